"""When is a composite alarm in ALARM? Its rule says so: `ALARM(cpu) AND NOT (OK("disk full") OR TRUE)` → a tree.

Source: API reference, *PutCompositeAlarm*: NOT binds most, then AND, then OR.
"""

import re
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from hashrange.cloudwatch.alarms.alarm import StateValue, name_in
from hashrange.errors import HashrangeError
from hashrange.items.steps import spend

RULE_LEVELS_MAX = 100
"""Levels of nested parentheses and NOT: our own bound."""
StateOf = Callable[[str], StateValue | None]
"""State of the alarm of this name; None if there is none, which no state function is true for."""

_next_token = re.compile(
    r"""\s*(?:
        (?P<state>ALARM|OK|INSUFFICIENT_DATA)\s*\(\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|'(?P<single>(?:[^'\\]|\\.)*)'|(?P<plain>[^()\s"']+))\s*\)
        | (?P<word>AND|OR|NOT|TRUE|FALSE)\b
        | (?P<sign>[()])
    )""",
    re.VERBOSE | re.IGNORECASE,
).match
_unescaped = re.compile(r"\\(.)").sub


class RuleError(HashrangeError):
    """The rule cannot be read; the message says why."""


class RuleNode(NamedTuple):
    """A rule, or a part of one."""

    kind: Literal["state", "and", "or", "not", "constant"]
    parts: tuple["RuleNode", ...] = ()
    alarm: str = ""
    """Name of the alarm that a state function looks at."""
    state: StateValue = "OK"
    value: bool = False
    """Of a constant."""

    def is_true(self, state_of: StateOf) -> bool:
        """True if the alarms' states make the rule true."""
        if self.kind == "state":
            return state_of(self.alarm) == self.state
        if self.kind == "and":
            return all(part.is_true(state_of) for part in self.parts)
        if self.kind == "or":
            return any(part.is_true(state_of) for part in self.parts)
        return not self.parts[0].is_true(state_of) if self.kind == "not" else self.value

    def alarms(self) -> Iterator[str]:
        """Names of the alarms that the rule looks at."""
        if self.kind == "state":
            yield self.alarm
        for part in self.parts:
            yield from part.alarms()


class _Token(NamedTuple):
    text: str
    node: RuleNode | None = None


def read_rule(text: str) -> RuleNode:
    """The tree of a rule; may give way: the longest rule takes 3 ms. Raises RuleError."""
    reader = _Reader(list(_tokens(text)))
    node = reader.any_of(0)
    if reader.left:
        raise RuleError(f"unexpected {reader.left[0].text}")
    return node


def _tokens(text: str) -> Iterator[_Token]:
    place, end = 0, len(text.rstrip())
    while place < end:
        spend(4)
        match = _next_token(text, place)
        if match is None:
            raise RuleError(f"unexpected text at position {place + 1}")
        place = match.end()
        if match["state"]:
            quoted = match["quoted"] if match["quoted"] is not None else match["single"]
            alarm = match["plain"] if quoted is None else _unescaped(r"\1", quoted)
            state: StateValue = match["state"].upper()  # type: ignore[assignment]
            yield _Token(match["state"], RuleNode("state", alarm=name_in(alarm), state=state))
        else:
            yield _Token((match["word"] or match["sign"]).upper())


class _Reader:
    """Reads tokens from left to right."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.left = tokens

    def any_of(self, level: int) -> RuleNode:
        """Parts with OR between them."""
        parts = [self._all_of(level)]
        while self._take("OR"):
            parts.append(self._all_of(level))
        return parts[0] if len(parts) == 1 else RuleNode("or", tuple(parts))

    def _all_of(self, level: int) -> RuleNode:
        parts = [self._one(level)]
        while self._take("AND"):
            parts.append(self._one(level))
        return parts[0] if len(parts) == 1 else RuleNode("and", tuple(parts))

    def _one(self, level: int) -> RuleNode:
        spend(4)
        if level > RULE_LEVELS_MAX:
            raise RuleError("too many levels")
        if not self.left:
            raise RuleError("it ends too early")
        if self._take("NOT"):
            return RuleNode("not", (self._one(level + 1),))
        if self._take("("):
            node = self.any_of(level + 1)
            if not self._take(")"):
                raise RuleError("a closing parenthesis is missing")
            return node
        token = self.left.pop(0)
        if token.node is not None:
            return token.node
        if token.text in {"TRUE", "FALSE"}:
            return RuleNode("constant", value=token.text == "TRUE")
        raise RuleError(f"unexpected {token.text}")

    def _take(self, text: str) -> bool:
        if self.left and self.left[0].text == text and self.left[0].node is None:
            self.left.pop(0)
            return True
        return False
