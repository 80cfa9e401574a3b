"""Which faults does a test's database have? `DatabaseFaults`: the faults that its requests meet,
and what they have met so far.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from hashrange.faults.drawing import Drawing, MetFault
from hashrange.faults.fault import Fault, Faults, checked
from hashrange.service.fault_feature import FAULTS, NO_FAULTS, FaultSetup, FaultsInPlace
from hashrange.testing.in_process import InProcess


class BlockFaults:
    """The faults of one `with` block; what was met can still be read after the block."""

    def __init__(self, drawing: Drawing | None, own: FaultSetup | None, former: FaultSetup | None) -> None:
        self._drawing = drawing
        self.own = own
        """What was put in place last for the block."""
        self.former = former
        """What is put in place when the block ends; None: there were never any faults."""

    @property
    def report(self) -> list[MetFault]:
        """What requests have met of the block's faults, in order."""
        return [] if self._drawing is None else list(self._drawing.report)


def _require_faults(faults: Sequence[Fault]) -> None:
    """Raise TypeError if something else was given, such as a list of faults."""
    for fault in faults:
        if not isinstance(fault, Fault):
            given = type(fault).__name__
            raise TypeError(f'faults are given one by one, as in faults.use(Fault("throttle")); {given} is no Fault.')


class DatabaseFaults:
    """The faults of one database (docs/testing/faults.md)."""

    def __init__(self, process: InProcess) -> None:
        self._process = process
        self._blocks: list[BlockFaults] = []
        """The blocks that have not ended, in the order in which they began. Used on the database's own thread."""

    def use(self, *faults: Fault, seed: int = 0) -> None:
        """From now on, let requests meet these faults instead of earlier ones. Raises FaultsError."""
        _require_faults(faults)
        self._process.run(self._use, Faults(faults, seed))

    def clear(self) -> None:
        """From now on, let requests meet no faults."""
        self.use()

    @contextmanager
    def during(self, *faults: Fault, seed: int = 0) -> Iterator[BlockFaults]:
        """Let requests meet these faults, instead of earlier ones, until the `with` block ends. Raises FaultsError.

        After the block the earlier faults go on, with their draws and their report. They do not if the database was
        reset, or restored, within the block.
        """
        _require_faults(faults)
        block = self._process.run(self._begin_block, Faults(faults, seed))
        try:
            yield block
        finally:
            self._process.run(self._end_block, block)

    @property
    def report(self) -> list[MetFault]:
        """What requests have met since the faults were set, in order."""
        return self._process.run(self._report)  # type: ignore[no-any-return]

    # --- on the database's own thread -------------------------------------------------------------

    @property
    def _present(self) -> FaultsInPlace:
        return self._process.service.features.part(FAULTS)

    def _use(self, faults: Faults) -> None:
        present = self._present
        is_of_block = bool(self._blocks) and present.setup is self._blocks[-1].own
        present.use(checked(faults.faults, faults.seed))
        if is_of_block:
            self._blocks[-1].own = present.setup

    def _begin_block(self, faults: Faults) -> BlockFaults:
        present = self._present
        former = present.setup
        present.use(checked(faults.faults, faults.seed))
        block = BlockFaults(self._process.service.requests.drawing, present.setup, former)
        self._blocks.append(block)
        return block

    def _end_block(self, block: BlockFaults) -> None:
        """Put the faults from before the block in place, unless the block's faults are no longer in place: because a
        block that began later, on another thread, or a restored snapshot has replaced them.
        """
        present = self._present
        self._blocks.remove(block)
        for other in self._blocks:
            if other.former is block.own:
                other.former = block.former
        if present.setup is not block.own:
            return
        if block.former is None:
            present.use(NO_FAULTS)
        else:
            present.take(block.former)

    def _report(self) -> list[MetFault]:
        drawing = self._process.service.requests.drawing
        return [] if drawing is None else list(drawing.report)
