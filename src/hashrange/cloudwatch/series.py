"""What is kept of one metric in one unit? Cells, in blocks of each resolution, and runs of the same observation.

Blocks in which something has changed since the last save are in memory;
the others are read where they are kept, and only when asked for.
"""

from array import array
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from hashrange.cloudwatch.blocks import Cells, add_cell, add_cells, decode_cells, encode_cells, together
from hashrange.cloudwatch.percentiles import Distribution
from hashrange.cloudwatch.runs import SteadyRun, add_run
from hashrange.cloudwatch.statistic import Cell, StatisticSet
from hashrange.cloudwatch.tiers import ALL_TIERS, MINUTES, SECONDS, TIERS, Tier
from hashrange.items.steps import spend, walk

BlockName = tuple[int, int]
"""Period of the tier in seconds, and number of the block."""
ReadCells = Callable[[BlockName], Cells]
"""Returns the cells of a kept block, which must not be changed. Raises StorageError."""


class Series:
    """All that was observed of one metric in one unit. Methods that read blocks raise StorageError."""

    __slots__ = ("_fresh", "_kept", "_moves", "_pending", "_read_cells", "_taken", "_tiers", "last_seconds", "runs")

    def __init__(
        self,
        read_cells: ReadCells,
        kept: Sequence[Sequence[int]] = ((), (), ()),
        runs: Sequence[SteadyRun] = (),
        last_seconds: float = 0.0,
    ) -> None:
        """`kept`: numbers of the blocks that are kept, for each of TIERS, and for SECONDS if there are any;
        `read_cells` reads one of them.
        """
        self._read_cells = read_cells
        self._kept = [array("q", numbers) for numbers in kept]
        self._tiers = TIERS if len(kept) == len(TIERS) else ALL_TIERS
        self._fresh: dict[BlockName, Cells] = {}
        """What has been observed since the last save, by block."""
        self._taken: dict[BlockName, Cells] = {}
        """What was in `_fresh` and is being put together with what is kept, which may give way."""
        self._pending: dict[BlockName, bytes | None] = {}
        """Blocks as they are to be kept, until they are; None: not at all."""
        self.runs = list(runs)
        """In the order in which they were added."""
        self.last_seconds = last_seconds
        """Time of the newest observation."""
        self._moves = 0
        """How often cells of a block have become part of a pending one, or of another tier."""

    # --- recording -------------------------------------------------------------------------------

    def record(
        self, at_seconds: float, observed: StatisticSet, distribution: Distribution | None, *, by_second: bool = False
    ) -> None:
        """Add observations of one minute, or of one second."""
        tier = SECONDS if by_second else MINUTES
        if by_second and self._tiers is TIERS:
            self._tiers = ALL_TIERS
            self._kept.append(array("q"))
        self._add(tier, int(at_seconds // tier.period_seconds), Cell(observed, distribution))
        self.last_seconds = max(self.last_seconds, at_seconds)

    def record_run(self, run: SteadyRun, now_seconds: float) -> None:
        """Add the same observation for many periods."""
        self.last_seconds = max(self.last_seconds, float(run.last_seconds))
        short = add_run(self.runs, run)
        if short is not None:
            self._add_cells_of(short, now_seconds)

    def _add_cells_of(self, run: SteadyRun, now_seconds: float) -> None:
        """Add a run as cells, each in the resolution that is kept of its time."""
        begin_seconds = 0
        for place in reversed(range(len(TIERS))):
            tier = TIERS[place]
            end_seconds = run.end_seconds
            if place:
                finer = TIERS[place - 1]
                end_seconds = finer.oldest_block(now_seconds) * finer.block_seconds
            for number, observed in run.sums(begin_seconds, end_seconds, tier.period_seconds):
                self._add(tier, begin_seconds // tier.period_seconds + number, Cell(observed))
            begin_seconds = max(begin_seconds, end_seconds)

    def _add(self, tier: Tier, number: int, cell: Cell) -> None:
        """Add the cell of a period of this tier, by the period's number since 1970."""
        name = (tier.period_seconds, number * tier.period_seconds // tier.block_seconds)
        cells = self._fresh.get(name)
        if cells is None:
            cells = self._fresh[name] = {}
        add_cell(cells, number, cell)

    # --- reading ---------------------------------------------------------------------------------

    def cells(self, begin_seconds: int, end_seconds: int, period_seconds: int) -> Cells:
        """What was observed in [begin, end), put together into periods of this length;
        the one at `begin_seconds` has number 0. May give way.
        """
        while True:
            moves = self._moves
            found = self._collected(begin_seconds, end_seconds, period_seconds)
            if moves == self._moves:  # otherwise cells have moved meanwhile, and may have been read twice, or not
                return found

    # C901: one pass over the cells of several tiers
    def _collected(self, begin_seconds: int, end_seconds: int, period_seconds: int) -> Cells:  # noqa: C901
        if period_seconds >= MINUTES.period_seconds:
            # A minute that begins before the end counts with all of its seconds.
            end_seconds = -(-end_seconds // MINUTES.period_seconds) * MINUTES.period_seconds
        found: Cells = {}
        several: dict[int, list[Cell]] = {}

        def add(period: int, cell: Cell) -> None:
            first = found.setdefault(period, cell)
            if first is not cell:
                several.setdefault(period, [first]).append(cell)

        for tier in self._tiers:
            names = self._names(tier, tier.block_of(begin_seconds), tier.block_of(end_seconds))
            asked = range(-(-begin_seconds // tier.period_seconds), -(-end_seconds // tier.period_seconds))
            for name in names:
                for number, cell in chain.from_iterable(walk(_cells_in(one, asked)) for one in self._cells_of(name)):
                    add((number * tier.period_seconds - begin_seconds) // period_seconds, cell)
        for run in self.runs[:]:
            if run.begin_seconds < end_seconds and begin_seconds < run.end_seconds:
                for period, observed in run.sums(begin_seconds, end_seconds, period_seconds):
                    spend(1)
                    add(period, Cell(observed))
        for period, parts in walk(several.items()):
            found[period] = together(parts)
        return found

    def _names(self, tier: Tier, first: int, last: int) -> list[BlockName]:
        """Names of this tier's blocks from one number to another."""
        period_seconds = tier.period_seconds
        kept = self._kept[_PLACES[period_seconds]]
        if not (kept or self._fresh or self._taken or self._pending):
            return []
        names = [(period_seconds, number) for number in kept[bisect_left(kept, first) : bisect_left(kept, last + 1)]]
        for changed in (self._pending, self._taken, self._fresh):
            for name in changed:
                if name[0] == period_seconds and first <= name[1] <= last:
                    names.append(name)  # noqa: PERF401 - most series have one such block, or none
        return sorted(set(names)) if len(names) > 1 else names

    def _cells_of(self, name: BlockName) -> Iterator[Cells]:
        """The cells of a block in up to three parts, which must not be changed; may give way."""
        if stored := self._stored(name):
            yield stored
        for part in (self._taken.get(name), self._fresh.get(name)):
            if part:
                yield part

    def _stored(self, name: BlockName) -> Cells:
        """The cells of a block, without those in `_taken` and `_fresh`; not to be changed. May give way."""
        if name in self._pending:
            block = self._pending[name]
            return {} if block is None else decode_cells(block)
        return self._read_cells(name) if name[1] in self._kept[_PLACES[name[0]]] else {}

    # --- rolling up ------------------------------------------------------------------------------

    def roll_up(self, now_seconds: float, blocks_max: int) -> int:
        """Put cells that are too old for their tier into the next one, and forget those that are too old for the last.

        Handles at most `blocks_max` blocks and returns how many it has handled: about 2 ms each. May give way.
        """
        blocks = 0
        for tier, coarser in zip(self._tiers, (*self._tiers[1:], None), strict=True):
            for name in self._names(tier, 0, tier.oldest_block(now_seconds) - 1):
                if name not in self._fresh and name not in self._taken and self._pending.get(name, b"") is None:
                    continue
                if blocks == blocks_max:
                    return blocks
                blocks += 1
                if coarser is None:
                    self._fresh.pop(name, None)
                else:
                    moved = self._take(name, coarser.period_seconds // tier.period_seconds)
                    for number, cell in moved.items():
                        self._add(coarser, number, cell)
                self._put(name, None)
        self.runs = [run for run in self.runs if run.end_seconds >= now_seconds - TIERS[-1].kept_seconds]
        return blocks

    def _take(self, name: BlockName, periods: int = 1) -> Cells:
        """The cells of a block, those of this many periods together; may give way.
        What is not kept yet is in `_taken` until `_put`.
        """
        taken = self._taken.setdefault(name, {})
        for number, cell in self._fresh.pop(name, {}).items():
            add_cell(taken, number, cell)
        cells: Cells = {}
        for part in (self._stored(name), taken):
            add_cells(cells, part, periods)
        return cells

    def _put(self, name: BlockName, block: bytes | None) -> None:
        """Let a block be kept as given; None: not at all."""
        self._pending[name] = block
        self._taken.pop(name, None)
        self._moves += 1

    def is_due(self, now_seconds: float) -> bool:
        """True if `roll_up` has something to do."""
        for tier in self._tiers:
            kept = self._kept[_PLACES[tier.period_seconds]]
            if kept and kept[0] < tier.oldest_block(now_seconds):
                return True
        return bool(self.runs) and self.runs[0].end_seconds < now_seconds - TIERS[-1].kept_seconds

    # --- keeping ---------------------------------------------------------------------------------

    @property
    def kept(self) -> "list[array[int]]":
        """Numbers of each tier's blocks that are kept once all changes are: three arrays, or four if there are
        seconds.
        """
        numbers = [kept[:] for kept in self._kept]
        _change(numbers, self._pending)
        return numbers if numbers[-1] else numbers[: len(TIERS)]

    @property
    def kept_names(self) -> list[BlockName]:
        """Names of the blocks that are kept now."""
        return [
            (tier.period_seconds, number) for tier in self._tiers for number in self._kept[_PLACES[tier.period_seconds]]
        ]

    @property
    def is_empty(self) -> bool:
        """True if nothing is left of the series."""
        return not self._fresh and not self._taken and not self.runs and not any(self.kept)

    def end(self) -> bool:
        """Forget what has been observed since the last save: nobody will ask for it.
        Returns True if blocks are kept, or may be being written.
        """
        self._fresh.clear()
        return bool(self._taken or self._pending) or any(self._kept)

    def take_changes(self) -> dict[BlockName, bytes | None]:
        """Blocks that are to be kept as given from now on, None: not any more. Call `have_kept` when they are.
        May give way; not to be called again meanwhile.
        """
        for name in self._taken | self._fresh:
            self._put(name, encode_cells(self._take(name)))
        return dict(self._pending)

    def have_kept(self, changes: dict[BlockName, bytes | None]) -> None:
        """Tell that the changes of the last `take_changes` are kept."""
        _change(self._kept, changes)
        for name in changes:
            self._pending.pop(name, None)


_PLACES = {tier.period_seconds: place for place, tier in enumerate((*TIERS, SECONDS))}


def _change(kept: "list[array[int]]", changes: dict[BlockName, bytes | None]) -> None:
    """Let the numbers of kept blocks be those after changes."""
    for (period_seconds, number), block in changes.items():
        numbers = kept[_PLACES[period_seconds]]
        if block is None and number in numbers:
            numbers.remove(number)
        elif block is not None and number not in numbers:
            insort(numbers, number)


def _cells_in(cells: Cells, numbers: range) -> list[tuple[int, Cell]]:
    """The cells of a block that have these numbers."""
    if len(cells) <= len(numbers):
        return [(number, cell) for number, cell in cells.items() if number in numbers]
    found = [(number, cells.get(number)) for number in numbers]
    return [(number, cell) for number, cell in found if cell is not None]
