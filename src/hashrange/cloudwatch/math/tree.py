"""How is an expression of metric math read? `100 * (m1 / m2)`, `IF(m1 > 5, m1, 0)` → a tree.

Source: CloudWatch user guide, *Metric math syntax and functions*.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from hashrange.cloudwatch.limits import METRIC_MATH_LEVELS_MAX
from hashrange.cloudwatch.math.errors import MathError

NodeKind = Literal["number", "text", "id", "call", "unary", "binary", "list"]


class MathNode(NamedTuple):
    """A part of an expression."""

    kind: NodeKind
    text: str
    """Digits, text, id, name of the function in capitals, or operator."""
    parts: tuple["MathNode", ...] = ()

    def ids(self) -> Iterator[str]:
        """Ids of the queries that the expression names."""
        if self.kind == "id":
            yield self.text
        for part in self.parts:
            yield from part.ids()


_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||", "OR"),
    ("&&", "AND"),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("+", "-"),
    ("*", "/"),
    ("^",),
)
"""Operators from those that bind least to those that bind most."""
_next_token = re.compile(
    r"""\s*(?:
        (?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
        | '(?P<single>(?:[^'\\]|\\.)*)' | "(?P<double>(?:[^"\\]|\\.)*)"
        | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
        | (?P<sign>\|\||&&|==|!=|<=|>=|[-+*/^<>(),\[\]])
    )""",
    re.VERBOSE,
).match
_unescaped = re.compile(r"\\(.)").sub


class _Token(NamedTuple):
    kind: Literal["number", "text", "name", "sign", "end"]
    text: str


def read_expression(text: str) -> MathNode:
    """The tree of an expression. Raises MathError."""
    reader = _Reader(list(_tokens(text)))
    node = reader.level(0, 0)
    reader.expect_end()
    return node


def _tokens(text: str) -> Iterator[_Token]:
    place, end = 0, len(text.rstrip())
    while place < end:
        match = _next_token(text, place)
        if match is None:
            raise MathError(f"unexpected character at position {place + 1}")
        place = match.end()
        if match["number"] is not None:
            yield _Token("number", match["number"])
        elif match["name"] is not None:
            word = match["name"]
            yield _Token("sign", word) if word in {"AND", "OR"} else _Token("name", word)
        elif match["sign"] is not None:
            yield _Token("sign", match["sign"])
        else:
            quoted = match["single"] if match["single"] is not None else match["double"]
            yield _Token("text", _unescaped(r"\1", quoted))
    yield _Token("end", "the end")


class _Reader:
    """Reads tokens from left to right."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._place = 0

    def _token(self) -> _Token:
        return self._tokens[self._place]

    def _take(self, *signs: str) -> str | None:
        token = self._token()
        if token.kind == "sign" and token.text in signs:
            self._place += 1
            return token.text
        return None

    def _expect(self, sign: str) -> None:
        if self._take(sign) is None:
            raise MathError(f"expected {sign} instead of {self._token().text}")

    def expect_end(self) -> None:
        """Raise MathError unless all tokens have been read."""
        if self._token().kind != "end":
            raise MathError(f"unexpected {self._token().text}")

    def level(self, number: int, depth: int) -> MathNode:
        """Operands with operators of this level, or of one that binds more, between them."""
        if depth > METRIC_MATH_LEVELS_MAX:
            raise MathError("too many levels")
        if number == len(_LEVELS):
            return self._unary(depth)
        node = self.level(number + 1, depth)
        while (operator := self._take(*_LEVELS[number])) is not None:
            node = MathNode(
                "binary", {"OR": "||", "AND": "&&"}.get(operator, operator), (node, self.level(number + 1, depth))
            )
        return node

    def _unary(self, depth: int) -> MathNode:
        if self._take("-"):
            return MathNode("unary", "-", (self._checked_unary(depth),))
        if self._take("+"):
            return self._checked_unary(depth)
        return self._primary(depth)

    def _checked_unary(self, depth: int) -> MathNode:
        if depth > METRIC_MATH_LEVELS_MAX:
            raise MathError("too many levels")
        return self._unary(depth + 1)

    def _primary(self, depth: int) -> MathNode:
        if self._take("("):
            node = self.level(0, depth + 1)
            self._expect(")")
            return node
        if self._take("["):
            return MathNode("list", "", self._list("]", depth))
        token = self._token()
        self._place += 1
        if token.kind == "number":
            return MathNode("number", token.text)
        if token.kind == "text":
            return MathNode("text", token.text)
        if token.kind != "name":
            raise MathError(f"unexpected {token.text}")
        if self._take("("):
            return MathNode("call", token.text.upper(), self._list(")", depth))
        if not (
            token.text[0].islower() or token.text in {"ASC", "DESC", "AVG", "MIN", "MAX", "SUM", "LINEAR", "REPEAT"}
        ):
            raise MathError(f"unknown name {token.text}")
        return MathNode("id" if token.text[0].islower() else "text", token.text)

    def _list(self, end: str, depth: int) -> tuple[MathNode, ...]:
        """Members up to a closing sign."""
        if self._take(end):
            return ()
        parts = [self.level(0, depth + 1)]
        while self._take(","):
            parts.append(self.level(0, depth + 1))
        self._expect(end)
        return tuple(parts)
