"""Which faults does a test's database have? `DatabaseFaults`: the faults that its requests meet, and what they have met so far."""

from collections.abc import Iterator
from contextlib import contextmanager

from hashrange.faults.drawing import MetFault
from hashrange.faults.fault import Fault, Faults
from hashrange.testing.in_process import InProcess


class DatabaseFaults:
    """The faults of one database (docs/testing/faults.md)."""

    def __init__(self, process: InProcess) -> None:
        self._process = process

    def use(self, *faults: Fault, seed: int = 0) -> None:
        """From now on, let requests meet these faults instead of earlier ones. Raises FaultsError."""
        self._process.run(self._process.service.use_faults, Faults(faults, seed))

    def clear(self) -> None:
        """From now on, let requests meet no faults."""
        self.use()

    @contextmanager
    def during(self, *faults: Fault, seed: int = 0) -> Iterator["DatabaseFaults"]:
        """Let requests meet these faults until the `with` block ends. Raises FaultsError."""
        self.use(*faults, seed=seed)
        try:
            yield self
        finally:
            self.clear()

    @property
    def report(self) -> list[MetFault]:
        """What requests have met since the faults were set, in order."""
        return self._process.run(self._report)  # type: ignore[no-any-return]

    def _report(self) -> list[MetFault]:
        drawing = self._process.service.drawing
        return [] if drawing is None else list(drawing.report)
