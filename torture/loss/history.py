"""What may a table hold after a crash? For each key of one writer, the values that its sent
and acknowledged requests allow.

A sent write may or may not have happened; an acknowledged one has happened; what a consistent read has shown must stay.
"""

from typing import NamedTuple

Value = str | None
"""An item's data; None when there is no item."""


class Verdict(NamedTuple):
    """Keys whose value is not among the possible ones."""

    lost: list[str]
    """Keys with an acknowledged write that is missing, or whose value is older."""
    invented: list[str]
    """Keys with a value that was never written, or was deleted."""


class History:
    """The possible values of one writer's keys. No one else writes them, and the writer sends one request at a time."""

    def __init__(self) -> None:
        self._possible: dict[str, set[Value]] = {}
        self._sent: dict[str, set[Value]] = {}
        self.acknowledged = 0
        """Number of acknowledged requests."""

    def send(self, effects: dict[str, Value]) -> None:
        """Note a request before it is sent: it may write all or some of these values."""
        for key, value in effects.items():
            self._possible.setdefault(key, {None}).add(value)
            self._sent.setdefault(key, {None}).add(value)

    def acknowledge(self, effects: dict[str, Value]) -> None:
        """Note the reply to a request: from now on its values are the only possible ones."""
        self.acknowledged += 1
        for key, value in effects.items():
            self._possible[key] = {value}

    def judge(self, found: dict[str, str]) -> Verdict:
        """Compare with the result of a read: key → data of every item of this writer."""
        lost: list[str] = []
        invented: list[str] = []
        for key in self._possible.keys() | found.keys():
            value = found.get(key)
            possible = self._possible.get(key, {None})
            if value in possible:
                continue
            is_older = None not in possible and value in self._sent.get(key, ())
            (lost if is_older else invented).append(key)
        return Verdict(sorted(lost), sorted(invented))

    def settle(self, found: dict[str, str]) -> None:
        """Make the result of a consistent read the only possible values, so that each fault is counted once."""
        for key in self._possible.keys() | found.keys():
            self._possible[key] = {found.get(key)}
