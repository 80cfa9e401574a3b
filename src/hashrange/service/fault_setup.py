"""What changes while there are faults? The store of every Scope, the delay of index entries, and how long states of tables last."""

from collections.abc import Callable, Collection
from typing import NamedTuple

from hashrange.clock import Clock
from hashrange.faults.drawing import Drawing
from hashrange.faults.fault import Faults, FaultsError, checked, most_lag_seconds
from hashrange.faults.fault_store import FaultStore
from hashrange.operations.operation import Scope
from hashrange.service.faulted_calls import FaultedCalls
from hashrange.settings import Settings
from hashrange.store.interface import WholeStore


class FaultSetup(NamedTuple):
    """What `Service.use_faults` puts in place."""

    drawing: Drawing | None
    """Draws who meets the faults; None without faults."""
    scope: Callable[[Scope], None]
    """Function that gives a Scope the store and the delays of states that go with the faults."""
    index_delay: Callable[[], float] | None
    """Function that draws the delay of a commit's index entries, in seconds of service time; None: no delay."""
    index_delay_max_seconds: float


def prepared_faults(
    faults: Faults,
    real: WholeStore,
    clock: Clock,
    settings: Settings,
    operations: Collection[str],
    calls: FaultedCalls,
) -> FaultSetup:
    """What has to be put in place for these faults. Raises FaultsError for a fault that cannot be met.

    `real`: the service's store; `operations`: the names of its operations.
    """
    faults = checked(faults.faults, faults.seed)
    for number, fault in enumerate(faults.faults, 1):
        names = (fault.operation,) if isinstance(fault.operation, str) else fault.operation or ()
        unknown = [name for name in names if name not in operations]
        if unknown:
            raise FaultsError(f"fault {number}: there is no operation {unknown[0]}.")
    base_seconds = settings.index_delay_seconds
    base_delay = (lambda: base_seconds) if base_seconds else None
    drawing = Drawing(faults, clock) if faults.faults else None
    if drawing is None:

        def undo(scope: Scope) -> None:
            scope.store = real
            scope.state_delay = lambda name: settings.table_state_delay_seconds

        return FaultSetup(None, undo, base_delay, base_seconds)
    store = FaultStore(real, drawing, clock, calls.running_operation, calls.running_meter, calls.mark)

    def set_up(scope: Scope) -> None:
        scope.store = store
        scope.state_delay = lambda name: max(
            settings.table_state_delay_seconds,
            drawing.seconds_of("table-states", name, calls.running_operation() or ""),
        )

    delay = (
        (lambda: max(base_seconds, drawing.seconds_of("index-lag", operation=calls.running_operation() or "")))
        if drawing.has("index-lag")
        else base_delay
    )
    return FaultSetup(drawing, set_up, delay, max(base_seconds, most_lag_seconds(faults)))
