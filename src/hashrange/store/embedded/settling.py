"""When nobody writes, what writes have left is put in order.

A row that was replaced leaves its older versions in the memtable and in the first level's files, and every range that is read
passes over them: a Query of 20 rows takes twice as long. Once no commit has come for a while, the memtable is flushed and
the first level merged into the next. While an index is built, or many write and hardly anybody reads ranges, less is merged,
less often. All of it happens beside the loop.
Figures: docs/adr/0011-engine-options.md.
"""

from hashrange.store.embedded.engine import Engine, Pace, set_pace
from hashrange.store.embedded.housekeeping import Housekeeper

LOOK_SECONDS = 0.25
"""Between two looks while there is something to put in order; without a commit in between, writes have paused."""
QUIET_LOOK_SECONDS = 1.0
MANY_COMMITS, COMMITS_PER_PAGE = 500, 20
"""So many since the last look, and so many for each page read: then merges may wait for more files."""
WORTH_SETTLING = (("rocksdb.num-entries-active-mem-table", 500), ("rocksdb.num-files-at-level0", 1))
"""Less is not worth a file."""


class Settling:
    """The state between looks of one store."""

    def __init__(self, housekeeper: Housekeeper, *, is_in_memory: bool) -> None:
        self._housekeeper = housekeeper
        self._is_in_memory = is_in_memory
        self._position = self._pages = 0
        self._is_settled = True
        self._engine: Engine = None
        self._pace = Pace.USUAL
        """Of that engine."""

    def look(self, engine: Engine, position: int, pages: int, *, is_bulk: bool) -> float:
        """Called again and again, with the number of the last commit and of pages read; returns the seconds until the next look."""
        if engine is not self._engine:
            self._engine, self._pace = engine, Pace.USUAL
        if position != self._position or is_bulk:
            are_many = position - self._position >= max(MANY_COMMITS, (pages - self._pages) * COMMITS_PER_PAGE)
            self._position, self._pages = position, pages
            self._is_settled = False
            self._work_at(Pace.BULK if is_bulk else Pace.WRITES if are_many else Pace.USUAL)
            return LOOK_SECONDS
        if not self._is_settled:
            self._is_settled = True
            if _has_much(engine):
                self._housekeeper.run(lambda: engine.flush(True))
                self._work_at(Pace.AT_REST)
        return QUIET_LOOK_SECONDS

    def _work_at(self, pace: Pace) -> None:
        if pace is self._pace:
            return
        self._pace = pace
        engine = self._engine
        self._housekeeper.run(lambda: set_pace(engine, pace, is_in_memory=self._is_in_memory))


def _has_much(engine: Engine) -> bool:
    return any((engine.property_int_value(name) or 0) >= least for name, least in WORTH_SETTLING)
