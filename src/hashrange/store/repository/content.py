"""Is the content of a copy sound? Verified as a data folder is, whose files are those of the copy."""

from collections.abc import Callable

from hashrange.clock import MovableClock, ServiceTimeState, SystemClock
from hashrange.errors import HashrangeError
from hashrange.store.embedded.check import check_store


def content_faults(
    data_dir: str, service_seconds: float, place: str, on_progress: Callable[[str, int, int], None]
) -> list[str]:
    """What is wrong with the data folder of a copy whose service time was `service_seconds`; empty: it is sound.

    `place` stands in the sentences for `data_dir`, which exists for the check alone.
    """
    clock = MovableClock(SystemClock(), ServiceTimeState(frozen_seconds=service_seconds))
    try:
        report = check_store(data_dir, lambda rows: on_progress("checked", rows, 0), clock)
    except HashrangeError as error:
        return [str(error).replace(data_dir, place).removesuffix(".")]
    return [fault.replace(data_dir, place) for fault in report.faults]
