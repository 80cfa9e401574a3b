"""Which answers did the hostile clients of one process get? Counts of answers, and their times."""

import re
import threading
from collections import Counter

import msgspec

from torture.stalls.children import REPLIED, now

_TYPE = re.compile(rb'"__type":"[^"]*?([A-Za-z]+)"')
_LOOKED_AT_BYTES = 500


class HostileReport(msgspec.Struct, frozen=True):
    """The report of a hostile process."""

    answers: dict[str, int]
    """Counts by answer, such as `200` or `400 ValidationException`."""
    took_ms: float
    """Median time of the replies; without replies, the median time that requests have been waiting."""
    took_max_ms: float
    broken: int
    """Number of connections that ended before a reply."""


class Tally:
    """Counts answers; used by many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: Counter[str] = Counter()
        self._seconds: list[float] = []
        self._broken = 0
        self._has_said = False
        self._under_way: dict[int, float] = {}

    def begin(self, client: int) -> None:
        """Note that a request is sent."""
        self._under_way[client] = now()

    def end(self, client: int, status: int, body: bytes) -> None:
        """Note its reply, or the last of several."""
        self.count(status, body)
        with self._lock:
            self._seconds.append(now() - self._under_way.pop(client))

    def count(self, status: int, body: bytes) -> None:
        """Count a reply."""
        with self._lock:
            self._answers[label(status, body)] += 1
        self.say_replied()

    def say_replied(self) -> None:
        """Report the first reply to the harness, once."""
        with self._lock:
            has_said, self._has_said = self._has_said, True
        if not has_said:
            print(REPLIED, flush=True)

    def broke(self, client: int) -> None:
        """Note that a client's reply will not come."""
        with self._lock:
            self._broken += 1
            self._under_way.pop(client, None)

    def report(self) -> HostileReport:
        """Return the counts so far; pending requests count with their time so far if no request was answered."""
        with self._lock:
            waiting = [now() - began for began in self._under_way.values()]
            seconds = sorted(self._seconds or waiting or [0.0])
            longest = max(seconds + waiting)
            return HostileReport(dict(self._answers), seconds[len(seconds) // 2] * 1000, longest * 1000, self._broken)


def label(status: int, body: bytes) -> str:
    """Return `200`, or status and type of an error."""
    found = _TYPE.search(body[:_LOOKED_AT_BYTES])
    return str(status) if status == 200 or not found else f"{status} {found[1].decode()}"
