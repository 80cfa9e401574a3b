"""When is a composite alarm in ALARM? Its rule says so: `ALARM(cpu) AND NOT (OK("disk full") OR TRUE)` → a tree.

Source: API reference, *PutCompositeAlarm*: NOT binds most, then AND, then OR; user guide, *Composite alarms*:
AT_LEAST; words of errors: reports of users.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from hashrange.cloudwatch.alarms.alarm import STATES, StateValue, name_in
from hashrange.errors import HashrangeError
from hashrange.items.steps import spend
from hashrange.messages.alarms import RULE_ENDS, RULE_TOO_DEEP, RULE_UNSUPPORTED, RULE_WORD_NEEDED

RULE_LEVELS_MAX = 100
"""Levels of nested parentheses and NOT: our own bound."""
StateOf = Callable[[str], StateValue | None]
"""State of the alarm of this name; None if there is none, which no state function is true for."""

_next_token = re.compile(
    r"""\s*(?:
        "(?P<quoted>(?:[^"\\]|\\.)*)" | '(?P<single>(?:[^'\\]|\\.)*)'
        | (?P<plain>[^(),\s"']+)
        | (?P<sign>[(),])
    )""",
    re.VERBOSE,
).match
_whole_word = re.compile(r"[^(),\s]+").search
_unescaped = re.compile(r"\\(.)").sub
_share = re.compile(r"([0-9]{1,5})(%?)").fullmatch


class RuleError(HashrangeError):
    """The rule cannot be read; the message says why."""


class RuleNode(NamedTuple):
    """A rule, or a part of one."""

    parts: tuple["RuleNode", ...] = ()
    least: int = 0
    """How many parts must be true: all for AND, one for OR; of no parts, none for TRUE, and one for FALSE."""
    alarm: str | None = None
    """Name of the alarm that a state function looks at; None: the node is no state function."""
    state: StateValue = "OK"
    is_negated: bool = False

    def is_true(self, state_of: StateOf) -> bool:
        """True if the alarms' states make the rule true."""
        if self.alarm is not None:
            return state_of(self.alarm) == self.state
        return (sum(part.is_true(state_of) for part in self.parts) >= self.least) != self.is_negated

    def alarms(self) -> Iterator[str]:
        """Names of the alarms that the rule looks at."""
        if self.alarm is not None:
            yield self.alarm
        for part in self.parts:
            yield from part.alarms()


class _Token(NamedTuple):
    text: str
    """Without quotes."""
    place: int
    word: str
    """The keyword or sign that the token is, in upper case; empty for quoted text."""


def read_rule(text: str, account: str, region: str) -> RuleNode:
    """The tree of a rule, which looks at alarms of this account and Region; may give way:
    the longest rule takes 30 ms. Raises RuleError.
    """
    reader = _Reader([*_tokens(text)], account, region)
    node = reader.any_of(0)
    reader.require_end()
    return node


def _tokens(text: str) -> Iterator[_Token]:
    place, end = 0, len(text.rstrip())
    while place < end:
        spend(4)
        match = _next_token(text, place)
        if match is None:
            word = _whole_word(text, place)
            assert word is not None
            raise _unsupported(_Token(word[0], word.start(), ""))
        place = match.end()
        kind = match.lastgroup or ""
        if kind in {"quoted", "single"}:
            yield _Token(_unescaped(r"\1", match[kind]), match.start(kind) - 1, "")
        else:
            yield _Token(match[kind], match.start(kind), match[kind].upper())


def _unsupported(token: _Token, text: str = RULE_UNSUPPORTED, needed: str = "") -> RuleError:
    return RuleError(text.format(token=token.text[:100], place=token.place, needed=needed))


class _Reader:
    """Reads tokens from left to right."""

    def __init__(self, tokens: list[_Token], account: str, region: str) -> None:
        self._left = tokens[::-1]
        self._place = account, region

    def any_of(self, level: int) -> RuleNode:
        """Parts with OR between them."""
        parts = [self._all_of(level)]
        while self._take("OR"):
            parts.append(self._all_of(level))
        return parts[0] if len(parts) == 1 else RuleNode(tuple(parts), 1)

    def require_end(self) -> None:
        """Raise RuleError if there are more tokens."""
        if self._left:
            raise _unsupported(self._left[-1])

    def _all_of(self, level: int) -> RuleNode:
        parts = [self._one(level)]
        while self._take("AND"):
            parts.append(self._one(level))
        return parts[0] if len(parts) == 1 else RuleNode(tuple(parts), len(parts))

    def _one(self, level: int) -> RuleNode:
        spend(4)
        if level > RULE_LEVELS_MAX:
            raise RuleError(RULE_TOO_DEEP)
        token = self._next()
        if token.word == "NOT":
            return _negated(self._one(level + 1))
        if token.word == "(":
            node = self.any_of(level + 1)
            self._require(")")
            return node
        if token.word in {"TRUE", "FALSE"}:
            return RuleNode(least=0 if token.word == "TRUE" else 1)
        if token.word in STATES:
            self._require("(")
            node = self._of_state(token)
            self._require(")")
            return node
        if token.word == "AT_LEAST":
            return self._at_least()
        raise _unsupported(token)

    def _of_state(self, state: _Token) -> RuleNode:
        """The alarm that the next token names is in this state."""
        alarm = self._next()
        if alarm.word in {"(", ")", ","}:
            raise _unsupported(alarm)
        value: StateValue = state.word  # type: ignore[assignment]
        return RuleNode(alarm=name_in(alarm.text, *self._place), state=value)

    def _at_least(self) -> RuleNode:
        """`(2, NOT ALARM, (a, b, c))`. Source: user guide, *Composite alarms*."""
        self._require("(")
        given = self._next()
        self._require(",")
        is_negated = self._take("NOT")
        state = self._next()
        if state.word not in STATES:
            raise _unsupported(state)
        self._require(",")
        self._require("(")
        parts = [self._of_state(state)]
        while self._take(","):
            spend(4)
            parts.append(self._of_state(state))
        self._require(")")
        self._require(")")
        return RuleNode(tuple(map(_negated, parts) if is_negated else parts), _least_of(given, len(parts)))

    def _next(self) -> _Token:
        if not self._left:
            raise RuleError(RULE_ENDS)
        return self._left.pop()

    def _require(self, word: str) -> None:
        token = self._next()
        if token.word != word:
            raise _unsupported(token, RULE_WORD_NEEDED, word)

    def _take(self, word: str) -> bool:
        if self._left and self._left[-1].word == word:
            self._left.pop()
            return True
        return False


def _negated(part: RuleNode) -> RuleNode:
    return RuleNode((part,), 1, is_negated=True)


def _least_of(given: _Token, count: int) -> int:
    """How many of `count` alarms `2` or `50%` are. Raises RuleError unless it is one of them to all."""
    share = _share(given.text)
    number = int(share[1]) if share is not None else 0
    if share is None or not 0 < number <= (100 if share[2] else count):
        raise _unsupported(given)
    return -(-count * number // 100) if share[2] else number
