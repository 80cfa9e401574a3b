"""When are old versions of rows merged away? Once writes pause: the memtable is flushed,
and level 0 merged into the next level.

A replaced row leaves older versions in the memtable and the files at level 0, and every read of a range passes over
them: a Query of 20 rows takes twice as long. While an index is built or rows are loaded, or many writes come
with few reads of ranges, merges wait for more files. Flushes run on the housekeeping thread, merges on threads of the
engine. To set another pace takes the engine 4 to 25 ms on disk, in which it holds the interpreter lock, so that nothing
else runs: a pace is set only where that pays.
Measurements: docs/adr/0011-engine-options.md.
"""

from hashrange.store.embedded.engine import Engine, Pace, set_pace
from hashrange.store.embedded.housekeeping import Housekeeper

LOOK_SECONDS = 0.25
"""Time to the next `Settling.look` after a commit or during a walk; if no commit came meanwhile, writes have paused."""
QUIET_LOOK_SECONDS = 1.0
MANY_COMMITS, COMMITS_PER_PAGE = 500, 20
"""MANY_COMMITS: commits between two calls of `Settling.look`. COMMITS_PER_PAGE: commits per page read in the same
time. When both are reached, merges wait for more files.
"""
FEW_COMMITS = 16
"""So few commits between two calls of `Settling.look` do not end the pace at which the engine rests."""
WORTH_SETTLING = (("rocksdb.num-entries-active-mem-table", 500), ("rocksdb.num-files-at-level0", 1))
"""Properties of the engine, each with a value. If no property reaches its value, a flush is not worth a new file."""


class Settling:
    """Sets an engine's pace (how large memtables grow, how many files a merge waits for); flushes when writes pause."""

    def __init__(self, housekeeper: Housekeeper, *, is_in_memory: bool) -> None:
        self._housekeeper = housekeeper
        self._is_in_memory = is_in_memory
        self._position = self._pages = self._moves = 0
        self._is_settled = True
        self._engine: Engine = None
        self._pace = Pace.USUAL
        """The `engine.Pace` last set for `_engine`: size of memtables, and number of files that starts a merge."""

    def look(self, engine: Engine, position: int, pages: int, moves: int, *, is_bulk: bool) -> float:
        """Set the engine's `Pace` of merging, and flush if writes have paused; return the seconds until the next call.

        `position`: of the last commit; `pages`: number of pages read so far; `moves`: number of commits so far that
        need no other pace; `is_bulk`: a walk fills a source, or rows are loaded.
        """
        if engine is not self._engine:
            self._engine, self._pace = engine, Pace.USUAL
        if position != self._position or is_bulk:
            commits = position - self._position - (moves - self._moves)
            are_many = commits >= max(MANY_COMMITS, (pages - self._pages) * COMMITS_PER_PAGE)
            self._position, self._pages, self._moves = position, pages, moves
            self._is_settled = False
            if is_bulk or commits > FEW_COMMITS or self._pace is not Pace.AT_REST:
                self._work_at(Pace.BULK if is_bulk else Pace.WRITES if are_many else Pace.USUAL)
            return LOOK_SECONDS
        if not self._is_settled:
            self._is_settled = True
            if any((engine.property_int_value(name) or 0) >= least for name, least in WORTH_SETTLING):
                self._housekeeper.run(lambda: engine.flush(True))
                self._work_at(Pace.AT_REST)
        return QUIET_LOOK_SECONDS

    def _work_at(self, pace: Pace) -> None:
        if pace is self._pace:
            return
        self._pace = pace
        engine = self._engine
        self._housekeeper.run(lambda: set_pace(engine, pace, is_in_memory=self._is_in_memory))
