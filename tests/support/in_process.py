"""A database inside the test's process, of these settings and at this clock; by default in memory, at the machine's."""

from functools import partial

from hashrange.clock import Clock, SystemClock
from hashrange.service.opening import open_service
from hashrange.settings import Settings
from hashrange.testing.in_process import InProcess


def in_process(settings: Settings | None = None, clock: Clock | None = None) -> InProcess:
    """The database, which is not started."""
    return InProcess(partial(open_service, settings or Settings(data_dir=None), clock or SystemClock()))
