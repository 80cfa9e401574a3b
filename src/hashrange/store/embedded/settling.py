"""When nobody writes, what writes have left is put in order.

A row that was replaced leaves its older versions in the memtable and in the first level's files, and every range that is read
passes over them: a Query of 20 rows takes twice as long. Once no commit has come for a while, the memtable is flushed and
the first level merged into the next. Both happen beside the loop. Figures: docs/adr/0011-engine-options.md.
"""

from hashrange.store.embedded.engine import FILES_TO_MERGE, Engine, merge_from
from hashrange.store.embedded.housekeeping import Housekeeper

LOOK_SECONDS = 0.25
"""Between two looks while there is something to put in order; without a commit in between, writes have paused."""
QUIET_LOOK_SECONDS = 1.0
WORTH_SETTLING = (("rocksdb.num-entries-active-mem-table", 500), ("rocksdb.num-files-at-level0", 1))
"""Less is not worth a file."""


class Settling:
    """The state between looks of one store."""

    def __init__(self, housekeeper: Housekeeper) -> None:
        self._housekeeper = housekeeper
        self._position = 0
        self._is_settled = True
        self._merging: Engine = None
        """The engine that merges each single file of the first level: right while nobody writes."""

    def look(self, engine: Engine, position: int) -> float:
        """Called again and again, with the number of the last commit; returns the seconds until the next look."""
        if position != self._position:
            self._position = position
            self._is_settled = False
            if self._merging is engine:
                self._merging = None
                self._housekeeper.run(lambda: merge_from(engine, FILES_TO_MERGE))
            return LOOK_SECONDS
        if not self._is_settled:
            self._is_settled = True
            if _has_much(engine):
                self._merging = engine
                self._housekeeper.run(lambda: _settle(engine))
        return QUIET_LOOK_SECONDS


def _has_much(engine: Engine) -> bool:
    return any((engine.property_int_value(name) or 0) >= least for name, least in WORTH_SETTLING)


def _settle(engine: Engine) -> None:
    """On the housekeeper's thread."""
    engine.flush(True)
    merge_from(engine, 1)
