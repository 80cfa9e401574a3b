"""What has one rule counted, and when? Summaries of the minutes of the last day, and of the hours of the last
15 days, as documents of the store.

    insight-counts/{source id}/{when it began to be watched, ms}/{kind of rule}/{hour since 1970} → minutes
      of that hour, or one summary of it

What has been counted since the last save is in memory only: a crash loses it, at most the last quarter of an hour.
A stop and a snapshot save first. Going by service time, minutes may be counted again when it is set back;
counts of the same minute are put together.

The running minute is counted in bounded memory, by a sketch that counts at most 512 keys, with an error that it states
(Space-Saving). Source: Metwally, Agrawal, El Abbadi, *Efficient computation of frequent and top-k elements in data
streams* (2005).
"""

from collections.abc import Callable, Iterator, Mapping

import msgspec

from hashrange.errors import RecordsChanged
from hashrange.insights.summary import Contributor, Summary, merged_summary
from hashrange.insights.unique_keys import UniqueKeys
from hashrange.store.documents import Documents
from hashrange.store.records import again_if_changed, decode_document

COUNTS_PREFIX = "insight-counts/"
MINUTE_SECONDS, HOUR_SECONDS, HOUR_MINUTES = 60, 3600, 60
MINUTES_KEPT_HOURS = 24
"""Hours of which each minute is kept."""
HOURS_KEPT = 15 * 24
KEYS_KEPT = 50
"""Most keys of a minute, or an hour, that has passed: twice as many as a report shows."""
KEYS_KEPT_BYTES = 16_384
"""Most bytes of these keys; the greatest one is kept in any case.
So a rule has at most 35 MB, and 4 MB if keys have 24 bytes."""
ROLLED_UP_HOURS = 4
"""Hours that one save puts together at most: about 10 ms."""

Minutes = list[tuple[int, Summary]]
"""Minute since 1970 → summary; of an hour whose minutes are not kept, its first minute → summary of the hour."""
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Minutes).decode
COUNTED_KEYS = 256
"""Keys whose counts survive when there are twice as many."""


class Sketch:
    """Counts of keys. No count is too small, and none is too great by more than `total` / COUNTED_KEYS.

    A key that is not counted any more had at most `floor`, which is not greater than that either.
    """

    __slots__ = ("_counts", "_errors", "_unique", "floor", "total")

    def __init__(self) -> None:
        self._counts: dict[bytes, float] = {}
        self._errors: dict[bytes, float] = {}
        self._unique: UniqueKeys | None = None
        """All keys that there have been; None as long as all are in `_counts`."""
        self.total = 0.0
        """Sum of all counts, which is exact."""
        self.floor = 0.0

    def add(self, key: bytes, count: float) -> None:
        """Count a key. 0.2 µs, 1 µs for a new key in a full sketch, and half a millisecond
        once in COUNTED_KEYS new keys.

        A negative count takes back one that came right before it: it does nothing if the key is not counted any more.
        """
        known = self._counts.get(key)
        if known is not None:
            self.total += count
            self._counts[key] = known + count
            if known + count <= 0:
                del self._counts[key]
            return
        if count < 0:
            return
        self.total += count
        self._counts[key] = self.floor + count
        if self._unique is not None:
            self._errors[key] = self.floor
            self._unique.add((key,))
        if len(self._counts) >= 2 * COUNTED_KEYS:
            self._forget_least()

    def _forget_least(self) -> None:
        if self._unique is None:
            self._unique = UniqueKeys()
            self._unique.add(self._counts)
        ordered = sorted(self._counts.items(), key=lambda one: one[1], reverse=True)
        self.floor = ordered[COUNTED_KEYS][1]
        self._counts = dict(ordered[:COUNTED_KEYS])
        self._errors = {key: error for key, error in self._errors.items() if key in self._counts}

    def summary(self) -> Summary:
        """All that is known, greatest key first."""
        ordered = sorted(self._counts.items(), key=lambda one: (-one[1], one[0]))
        contributors = [Contributor(key, count, self._errors.get(key, 0.0)) for key, count in ordered]
        return Summary(self.total, contributors, self.floor, b"" if self._unique is None else self._unique.stored())


class RuleCounts:
    """The counts of one rule, by service time."""

    def __init__(self, documents: Documents, name: str, wake: Callable[[], None]) -> None:
        """`name`: how the names of its documents begin. `wake` is called when there is something new to save."""
        self._documents = documents
        self.name = name
        self._wake = wake
        self._minute = -1
        """The running minute since 1970."""
        self._sketch = Sketch()
        self._unsaved: dict[int, Minutes] = {}
        """By hour: minutes that have passed since the last save."""
        self._tended_hour = -1

    def add(self, key: bytes, count: float, minute: int) -> None:
        """Count a key in this minute since 1970, the one that runs now."""
        if minute != self._minute:
            self._end_minute()
            self._minute = minute
            self._wake()
        self._sketch.add(key, count)

    def _end_minute(self) -> None:
        if self._sketch.total:
            summary = self._sketch.summary().shortened(KEYS_KEPT, KEYS_KEPT_BYTES)
            self._unsaved.setdefault(self._minute // HOUR_MINUTES, []).append((self._minute, summary))
            self._sketch = Sketch()

    def between(self, begin_seconds: float, end_seconds: float, now_seconds: float) -> Iterator[tuple[float, Summary]]:
        """Begin of each minute or hour in [begin, end) with something counted,
        in order of time. Raises StorageError.
        """
        now_hour = int(now_seconds // HOUR_SECONDS)
        first = max(int(begin_seconds // HOUR_SECONDS), now_hour - HOURS_KEPT + 1)
        last = min(int(end_seconds // HOUR_SECONDS), max(now_hour, *self._unsaved, self._minute // HOUR_MINUTES))
        for hour in range(first, last + 1):
            minutes = self._kept(hour) + self._unsaved.get(hour, [])
            if self._minute // HOUR_MINUTES == hour and self._sketch.total:
                minutes = [*minutes, (self._minute, self._sketch.summary())]
            for minute, summary in sorted(minutes, key=lambda one: one[0]):
                if begin_seconds <= minute * MINUTE_SECONDS < end_seconds:
                    yield float(minute * MINUTE_SECONDS), summary

    def _document(self, hour: int) -> str:
        return f"{self.name}{hour:08d}"

    def _kept(self, hour: int) -> Minutes:
        name = self._document(hour)
        return _minutes_of(name, self._documents.get(name))

    @again_if_changed
    async def save(self, now_seconds: float, generation: int) -> None:
        """Keep all that has been counted, and roll up old minutes.
        Does nothing if the content was replaced. Raises StorageError.
        """
        self._end_minute()
        self._minute = -1
        taken, self._unsaved = self._unsaved, {}
        by_name = {self._document(hour): minutes for hour, minutes in taken.items()}
        read = {name: self._documents.get(name) for name in by_name}
        changes: dict[str, bytes | None] = {
            name: _encode(_by_minute(_minutes_of(name, read[name]) + minutes)) for name, minutes in by_name.items()
        }
        now_hour = int(now_seconds // HOUR_SECONDS)
        if now_hour != self._tended_hour:
            changes |= self._rolled_up(now_hour, changes, read)
        try:
            is_done = not changes or await self._documents.write(changes, generation, read)
            if not is_done and generation == self._documents.generation:
                raise RecordsChanged
        except BaseException:
            for hour, minutes in self._unsaved.items():
                taken.setdefault(hour, []).extend(minutes)
            self._unsaved = taken
            self._tended_hour = -1
            raise

    def _rolled_up(
        self, now_hour: int, changes: Mapping[str, bytes | None], read: dict[str, bytes | None]
    ) -> dict[str, bytes | None]:
        """Documents of old hours: those whose minutes are put together, and those that are deleted.
        Notes in `read` what follows from these.
        """
        rolled: dict[str, bytes | None] = {}
        self._tended_hour = now_hour
        for name, stored in self._documents.below(self.name):
            hour = int(name[len(self.name) :])
            if hour <= now_hour - HOURS_KEPT:
                rolled[name] = None
            elif (
                hour <= now_hour - MINUTES_KEPT_HOURS
                and len(minutes := _minutes_of(name, changes.get(name) or stored)) > 1
            ):
                if len(rolled) >= ROLLED_UP_HOURS:
                    self._tended_hour = -1
                    break
                whole = merged_summary([summary for _, summary in minutes])
                read.setdefault(name, stored)
                rolled[name] = _encode([(hour * HOUR_MINUTES, whole.shortened(KEYS_KEPT, KEYS_KEPT_BYTES))])
        return rolled


def _minutes_of(name: str, document: bytes | None) -> Minutes:
    return [] if document is None else decode_document(_decode, name, document, "hour of a rule's counts")


def _by_minute(minutes: Minutes) -> Minutes:
    """Counts of the same minute, put together."""
    by_minute: dict[int, list[Summary]] = {}
    for minute, summary in minutes:
        by_minute.setdefault(minute, []).append(summary)
    return [
        (minute, one[0] if len(one) == 1 else merged_summary(one).shortened(KEYS_KEPT, KEYS_KEPT_BYTES))
        for minute, one in sorted(by_minute.items())
    ]
