"""What has one rule counted, and when? A sketch for each minute of the last hours, and for each hour of the last two weeks, in memory alone."""

from collections.abc import Iterator

from hashrange.insights.sketch import Sketch, merged_sketch

MINUTE_SECONDS, HOUR_SECONDS = 60, 3600
MINUTES_KEPT = 180
HOURS_KEPT = 15 * 24
KEYS_KEPT = 100
"""Keys of a minute, or an hour, that has passed."""


class RuleCounts:
    """The counts of one rule, by service time."""

    def __init__(self) -> None:
        self._minutes: dict[int, Sketch] = {}
        """By number of the minute since 1970, in order of time."""
        self._hours: dict[int, Sketch] = {}
        self._minute = -1
        self._sketch = Sketch()

    def add(self, key: bytes, count: float, now_seconds: float) -> None:
        """Count a key now."""
        minute = int(now_seconds // MINUTE_SECONDS)
        if minute != self._minute:
            self._begin(minute)
        self._sketch.add(key, count)

    def _begin(self, minute: int) -> None:
        """Begin to count a minute, and put minutes that are too old together to hours."""
        before = self._minutes.get(self._minute)
        if before is not None:
            self._minutes[self._minute] = merged_sketch([before], KEYS_KEPT)
        self._minute = minute
        self._sketch = self._minutes.setdefault(minute, Sketch())
        for old in [one for one in self._minutes if one <= minute - MINUTES_KEPT]:
            hour = old * MINUTE_SECONDS // HOUR_SECONDS
            sketches = [sketch for sketch in (self._hours.get(hour), self._minutes.pop(old)) if sketch is not None]
            self._hours[hour] = merged_sketch(sketches, KEYS_KEPT)
        oldest = minute * MINUTE_SECONDS // HOUR_SECONDS - HOURS_KEPT
        for old in [one for one in self._hours if one <= oldest]:
            del self._hours[old]

    def between(self, begin_seconds: float, end_seconds: float) -> Iterator[tuple[float, Sketch]]:
        """Begin of each minute and hour in [begin, end) with something counted, in order of time."""
        for hour, sketch in sorted(self._hours.items()):
            if begin_seconds <= hour * HOUR_SECONDS < end_seconds:
                yield float(hour * HOUR_SECONDS), sketch
        for minute, sketch in sorted(self._minutes.items()):
            if begin_seconds <= minute * MINUTE_SECONDS < end_seconds:
                yield float(minute * MINUTE_SECONDS), sketch
