"""What have the hostile clients of one process been answered? Counts of answers, and how long they took."""

import re
import threading
from collections import Counter

import msgspec

from torture.stalls.children import REPLIED, now

_TYPE = re.compile(rb'"__type":"[^"]*?([A-Za-z]+)"')
_LOOKED_AT_BYTES = 500


class HostileReport(msgspec.Struct, frozen=True):
    """What a hostile process says at its end."""

    answers: dict[str, int]
    """`200`, `400 ValidationException`: how many."""
    took_ms: float
    """Median of the replies; of none, how long the oldest request has waited."""
    took_max_ms: float
    broken: int
    """Connections that ended before a reply."""


class Tally:
    """Filled by many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: Counter[str] = Counter()
        self._seconds: list[float] = []
        self._broken = 0
        self._has_said = False
        self._under_way: dict[int, float] = {}

    def begin(self, client: int) -> None:
        """A request goes out."""
        self._under_way[client] = now()

    def end(self, client: int, status: int, body: bytes) -> None:
        """Its reply, or the last one of several, is there."""
        self.count(status, body)
        with self._lock:
            self._seconds.append(now() - self._under_way.pop(client))

    def count(self, status: int, body: bytes) -> None:
        """A reply is there."""
        with self._lock:
            self._answers[label(status, body)] += 1
        self.say_replied()

    def say_replied(self) -> None:
        """Once: the harness need not wait any longer."""
        with self._lock:
            has_said, self._has_said = self._has_said, True
        if not has_said:
            print(REPLIED, flush=True)

    def broke(self, client: int) -> None:
        """No reply will come."""
        with self._lock:
            self._broken += 1
            self._under_way.pop(client, None)

    def report(self) -> HostileReport:
        """So far; what is under way counts with the time that it has taken when nothing else was answered."""
        with self._lock:
            waiting = [now() - began for began in self._under_way.values()]
            seconds = sorted(self._seconds or waiting or [0.0])
            longest = max(seconds + waiting)
            return HostileReport(dict(self._answers), seconds[len(seconds) // 2] * 1000, longest * 1000, self._broken)


def label(status: int, body: bytes) -> str:
    """`200`, or status and type of an error."""
    found = _TYPE.search(body[:_LOOKED_AT_BYTES])
    return str(status) if status == 200 or not found else f"{status} {found[1].decode()}"
