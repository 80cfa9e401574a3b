"""Which metrics does SEARCH find? `SEARCH('{AWS/DynamoDB,TableName} MetricName="ConsumedReadCapacityUnits"', 'Sum', 300)`.

A term is looked for in names and values of all properties; `Property=term` in one. Words are divided at signs, and compared without regard to
case; a quoted term has to be equal. Source: CloudWatch user guide, *Search expression syntax*.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from hashrange.cloudwatch.math.errors import MathError
from hashrange.cloudwatch.metric_id import MetricId

_as_schema = re.compile(
    r'\s*\{\s*(?:"([^"]*)"|([^,}"]+?))\s*((?:,\s*(?:"[^"]*"|[^,}"]+?)\s*)*)\}(.*)', re.DOTALL
).fullmatch
_next_token = re.compile(
    r"""\s*(?:(?P<sign>[()])|(?P<word>AND|OR|NOT)\b|(?:(?P<property>:?[A-Za-z][\w.:/-]*)\s*=\s*)?(?:"(?P<quoted>[^"]*)"|(?P<plain>[^\s()"=]+)))""",
    re.VERBOSE,
).match
_words = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_]+").findall
MetricMatches = Callable[[MetricId], bool]
SEARCH_LEVELS_MAX = 50


class Search(NamedTuple):
    """A search that has been read."""

    namespace: str | None
    """None: any namespace and any dimensions."""
    dimension_names: frozenset[str]
    matches: MetricMatches

    def finds(self, metric: MetricId) -> bool:
        """True if the search finds this metric."""
        if self.namespace is not None:
            if metric.namespace != self.namespace:
                return False
            if {name for name, _ in metric.dimensions} != self.dimension_names:
                return False
        return self.matches(metric)


def read_search(text: str) -> Search:
    """The search of a text. Raises MathError."""
    match = _as_schema(text)
    namespace, names, rest = None, frozenset[str](), text
    if match is not None:
        namespace = match[1] if match[1] is not None else match[2]
        found = re.findall(r'"([^"]*)"|([^,"]+)', match[3])
        names = frozenset(name for quoted, plain in found if (name := quoted or plain.strip()))
        rest = match[4]
    reader = _Reader(list(_tokens(rest)))
    matches = reader.any_of(0) if reader.left else (lambda _: True)
    if reader.left:
        raise MathError("the search expression has an unexpected parenthesis")
    return Search(namespace, names, matches)


class _Token(NamedTuple):
    sign: str
    """`(`, `)`, `AND`, `OR`, `NOT`; empty for a term."""
    property: str | None = None
    term: str = ""
    is_exact: bool = False


def _tokens(text: str) -> Iterator[_Token]:
    place, end = 0, len(text.rstrip())
    while place < end:
        match = _next_token(text, place)
        if match is None:
            raise MathError(f"the search expression cannot be read at position {place + 1}")
        place = match.end()
        if match["sign"] or match["word"]:
            yield _Token(match["sign"] or match["word"])
        else:
            is_exact = match["quoted"] is not None
            yield _Token("", match["property"], match["quoted"] if is_exact else match["plain"], is_exact)


class _Reader:
    """Reads tokens from left to right: terms side by side are combined as with AND."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.left = tokens

    def any_of(self, level: int) -> MetricMatches:
        """Parts with OR between them."""
        parts = [self._all_of(level)]
        while self.left and self.left[0].sign == "OR":
            self.left.pop(0)
            parts.append(self._all_of(level))
        return lambda metric: any(part(metric) for part in parts)

    def _all_of(self, level: int) -> MetricMatches:
        parts = [self._one(level)]
        while self.left and self.left[0].sign not in {"OR", ")"}:
            if self.left[0].sign == "AND":
                self.left.pop(0)
            parts.append(self._one(level))
        return lambda metric: all(part(metric) for part in parts)

    def _one(self, level: int) -> MetricMatches:
        if not self.left or level > SEARCH_LEVELS_MAX:
            raise MathError("the search expression ends too early")
        token = self.left.pop(0)
        if token.sign == "NOT":
            part = self._one(level + 1)
            return lambda metric: not part(metric)
        if token.sign == "(":
            inner = self.any_of(level + 1)
            if not self.left or self.left.pop(0).sign != ")":
                raise MathError("a closing parenthesis is missing in the search expression")
            return inner
        if token.sign:
            raise MathError(f"unexpected {token.sign} in the search expression")
        return lambda metric: _has_term(metric, token)


def _has_term(metric: MetricId, token: _Token) -> bool:
    return any(_fits(text, token) for text in _texts(metric, token.property))


def _texts(metric: MetricId, wanted: str | None) -> Iterator[str]:
    """The texts of a metric that a term may be in."""
    if wanted in {None, "MetricName"}:
        yield metric.name
    if wanted in {None, "Namespace"}:
        yield metric.namespace
    for name, value in metric.dimensions:
        if wanted is None:
            yield name
        if wanted in {None, name}:
            yield value


def _fits(text: str, token: _Token) -> bool:
    if token.is_exact:
        return text == token.term
    words = {word.lower() for word in _words(text)}
    return token.term.lower() in {text.lower(), *words} or {word.lower() for word in _words(token.term)} <= words
