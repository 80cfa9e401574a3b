"""Back to which time can a table be restored? As far as its change log is kept: the *window* of its recovery.

    prefix ‖ table id ‖ sequence number     → bytes of the log's records behind the mark before, up to this number

A window begins when recovery is turned on. Its marks, one for each MARK_BYTES or MARK_SECONDS of changes, at most one
for a commit, tell how long the log is, so that the records before a mark are deleted when they are older than the
table's period of recovery, or when all windows together exceed the store's limit: then the oldest part goes first, of
whichever table.
Why: docs/adr/0071-row-copies.md.
"""

import logging
from collections.abc import Callable
from functools import partial
from heapq import heapify, heappop, heapreplace
from itertools import islice

from hashrange.messages.backups import LOG_WINDOW_SHORTENED
from hashrange.store.embedded import layout
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import WriteBatch
from hashrange.store.embedded.participant import Terms
from hashrange.store.embedded.stream_states import (
    MARK_SECONDS,
    PARTITIONS_TOGETHER,
    RecoveryWindow,
    StoredStreams,
    partitions_with_records,
    window_hold,
)
from hashrange.tables.schema import Table
from hashrange.tables.streams import (
    SEQUENCE_MAX,
    has_recovery,
    next_sequence,
    sequence_at,
    sequence_seconds,
)
from hashrange.tables.streams import Sequence as SequenceNumber

MARK_BYTES = 1024 * 1024
DAY_SECONDS = 86_400.0
MARKS_TOGETHER = 1024
"""Marks that are passed, or deleted, in one commit: some 3 ms."""
LINES_TOGETHER = 32
"""Warnings that are logged at once."""

_log = logging.getLogger("hashrange.backups")


class RecoveryWindows:
    """The windows of all tables for which recovery is on, and the deletion of records that nobody needs any more."""

    def __init__(self, terms: Terms) -> None:
        self._streams = terms.streams
        self._clock = terms.clock
        self._wake = terms.wake
        self._find_table = terms.find_table
        self._limit_bytes = terms.options.recovery_max_bytes
        self._windows: dict[int, RecoveryWindow] = {}
        """Table id → window."""
        self._untrimmed: dict[int, int] = {}
        """Id of a table whose log may have records that nobody needs → number of the next partition to look at."""
        self._unlogged: dict[int, tuple[str, float]] = {}
        """Table id → name, and since when its window reaches, until it has been logged that the limit has shortened it.
        """

    def load(self, stored: StoredStreams) -> None:
        """Take over the windows of a newly opened engine, whose logs have them already."""
        self._windows, self._untrimmed = stored.windows, stored.untrimmed

    def _begun(self, window: RecoveryWindow) -> None:
        self._windows[window.table_id] = window
        self._streams.log_of(window.table_id).keep_for(window)
        self._streams.holds[window_hold(window.table_id)] = (window.table_id, window.first)

    # --- what follows from changes ----------------------------------------------------------------

    def table_changes(self, draft: Draft, old: Table | None, new: Table | None) -> None:
        """Begin or end the window of a table whose recovery is turned on or off, or which is deleted."""
        since = None if new is None or not has_recovery(new) else new.recovery
        before = None if old is None or not has_recovery(old) else old.recovery
        if before is not None and (since is None or since.since_seconds != before.since_seconds):
            assert old is not None
            self._end(draft, old.table_id)
        if since is not None and (before is None or before.since_seconds != since.since_seconds):
            assert new is not None
            first = next_sequence(self._streams.last, draft.at_seconds)
            draft.batch.put(layout.window_key(new.table_id, first), layout.encode_counter(0))
            window = RecoveryWindow(new.table_id, first)
            window.mark(first, 0)
            draft.afterwards.append(lambda: self._begun(window))

    def _end(self, draft: Draft, table_id: int) -> None:
        lower = layout.window_key(table_id, 0)
        draft.batch.delete_range(lower, layout.window_key(table_id, SEQUENCE_MAX))
        self.leave_untrimmed(draft, table_id)
        draft.afterwards.append(lambda: self._ended(table_id))

    def _ended(self, table_id: int) -> None:
        del self._windows[table_id], self._streams.holds[window_hold(table_id)]
        self._streams.log_of(table_id).keep_for(None)

    def leave_untrimmed(self, draft: Draft, table_id: int) -> None:
        """Add to the draft that a table's log may have records that nobody needs any more."""
        draft.batch.put(layout.window_key(table_id, SEQUENCE_MAX), b"")
        draft.afterwards.append(lambda: self._see_untrimmed(table_id))

    def _see_untrimmed(self, table_id: int) -> None:
        self._untrimmed[table_id] = 0
        self._wake()

    def count(
        self,
        batch: WriteBatch,
        afterwards: list[Callable[[], object]],
        window: RecoveryWindow,
        sequence: SequenceNumber,
        size_bytes: int,
    ) -> None:
        """Count the bytes of the records that a commit adds to the table's log, of which `sequence` is the last, once
        the commit is written; add a mark there to the batch if one is due.
        """
        unmarked_bytes = window.unmarked_bytes + size_bytes
        if unmarked_bytes < MARK_BYTES and sequence <= window.mark_until:
            afterwards.append(partial(setattr, window, "unmarked_bytes", unmarked_bytes))
        else:
            self.mark(batch, afterwards, window, sequence, size_bytes)

    def mark(
        self,
        batch: WriteBatch,
        afterwards: list[Callable[[], object]],
        window: RecoveryWindow,
        sequence: SequenceNumber,
        size_bytes: int,
    ) -> None:
        """Add a mark at `sequence` to the batch, up to which the commit adds so many bytes to the table's log."""
        unmarked_bytes = window.unmarked_bytes + size_bytes
        batch.put(layout.window_key(window.table_id, sequence), layout.encode_counter(unmarked_bytes))
        afterwards.append(partial(self._marked, window, sequence, unmarked_bytes))

    def _marked(self, window: RecoveryWindow, sequence: SequenceNumber, unmarked_bytes: int) -> None:
        window.mark(sequence, unmarked_bytes)
        window.unmarked_bytes = 0
        self._wake()

    @property
    def last_sequence(self) -> SequenceNumber:
        """The sequence number that was given out last."""
        return self._streams.last

    # --- what is told -----------------------------------------------------------------------------

    def since_seconds(self, table: Table, now_seconds: float) -> float | None:
        """The service time since when a table's log tells everything; None while its recovery is off."""
        window = self._windows.get(table.table_id)
        if window is None or table.recovery is None:
            return None
        return max(sequence_seconds(window.first), now_seconds - table.recovery.period_days * DAY_SECONDS)

    # --- deletion ---------------------------------------------------------------------------------

    def tend(self, draft: Draft) -> float | None:
        """Shorten windows that are too long, or delete some records that nobody needs. Returns the seconds of service
        time until there is more to do, 0 if something was done; None if no table has recovery on.
        """
        if self._untrimmed:
            self._trim(draft, *next(iter(self._untrimmed.items())))
            return 0.0
        self._shorten_to_limit(draft)
        if len(draft.batch):
            return 0.0  # the windows are as they were until the commit has been written
        for table_id in list(islice(self._unlogged, LINES_TOGETHER)):
            _log.warning(LOG_WINDOW_SHORTENED, *self._unlogged.pop(table_id))
        dues = []
        for window in self._windows.values():
            dues.append(self._shorten_by_age(draft, window))
            if len(draft.batch) > MARKS_TOGETHER:
                break
        if self._untrimmed or self._unlogged or len(draft.batch):
            return 0.0
        return min(dues, default=None)

    def _shorten_to_limit(self, draft: Draft) -> None:
        """Move the begins of windows forward, the oldest first, until all together have at most the limit's bytes, or
        many marks have been passed.
        """
        windows = list(self._windows.values())
        over_bytes = sum([one.size_bytes for one in windows]) - self._limit_bytes
        if over_bytes <= 0:
            return
        cuts: dict[int, int] = {}
        begins = [(*one.marks[0], one.table_id) for one in windows if len(one.marks) > 1]
        heapify(begins)
        for _ in range(MARKS_TOGETHER):
            if over_bytes <= 0 or not begins:
                break
            table_id = begins[0][-1]
            marks, count = self._windows[table_id].marks, cuts.get(table_id, 0) + 1
            cuts[table_id] = count
            over_bytes -= marks[count][1]
            if len(marks) - 1 > count:
                heapreplace(begins, (*marks[count], table_id))
            else:
                heappop(begins)
        for table_id, count in cuts.items():
            window = self._windows[table_id]
            self._shorten(draft, window, count)
            table = self._find_table(table_id)
            told = "" if table is None else table.name, sequence_seconds(window.marks[count][0])
            draft.afterwards.append(partial(self._unlogged.__setitem__, table_id, told))

    def _shorten_by_age(self, draft: Draft, window: RecoveryWindow) -> float:
        """Move the begin of a window behind changes that are older than the period. Returns the seconds until its next
        mark is that old.
        """
        table = self._find_table(window.table_id)
        if table is None or table.schema.recovery is None:
            return MARK_SECONDS
        period_seconds = table.schema.recovery.period_days * DAY_SECONDS
        horizon = sequence_at(max(0.0, draft.at_seconds - period_seconds))
        count = 0
        while len(window.marks) > count + 1 and window.marks[count + 1][0] < horizon:
            count += 1
        if count:
            self._shorten(draft, window, count)
        if len(window.marks) < 2:
            return MARK_SECONDS
        return max(0.001, sequence_seconds(window.marks[1][0]) + period_seconds - draft.at_seconds)

    def _shorten(self, draft: Draft, window: RecoveryWindow, count: int) -> None:
        """Let a window begin at its mark of this place: the changes up to there need no longer be kept."""
        first = window.marks[count][0]
        gone_bytes = sum([size_bytes for _, size_bytes in islice(window.marks, count + 1)])
        for sequence, _ in islice(window.marks, count):
            draft.batch.delete(layout.window_key(window.table_id, sequence))
        draft.batch.put(layout.window_key(window.table_id, first), layout.encode_counter(0))
        self.leave_untrimmed(draft, window.table_id)
        draft.afterwards.append(lambda: self._shortened(window, count, gone_bytes))

    def _shortened(self, window: RecoveryWindow, count: int, gone_bytes: int) -> None:
        for _ in range(count):
            window.marks.popleft()
        window.first = window.marks[0][0] + 1
        window.marks[0] = (window.marks[0][0], 0)
        window.marked_bytes -= gone_bytes
        if window.table_id in self._windows:
            self._streams.holds[window_hold(window.table_id)] = (window.table_id, window.first)

    def _trim(self, draft: Draft, table_id: int, start: int) -> None:
        """Delete records of some partitions of a table, from number `start` on, that nobody needs."""
        partitions = partitions_with_records(draft.engine, table_id, start, PARTITIONS_TOGETHER)
        self._streams.trim(draft, table_id, partitions)
        if len(partitions) == PARTITIONS_TOGETHER:
            draft.batch.put(layout.window_key(table_id, SEQUENCE_MAX), b"")
            draft.afterwards.append(lambda: self._untrimmed.update({table_id: partitions[-1] + 1}))
        else:
            draft.batch.delete(layout.window_key(table_id, SEQUENCE_MAX))
            draft.afterwards.append(lambda: self._untrimmed.pop(table_id, None))
