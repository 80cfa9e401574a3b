"""Which metrics does SEARCH find? `SEARCH('{AWS/DynamoDB,TableName} MetricName="ConsumedReadCapacityUnits"', 'Sum', 300)`.

A term is looked for in the metric's name, namespace, and names and values of dimensions; `Property=term` in one of these. A term in double
quotes has to be equal. Another one has to be a token of the text, or several tokens that follow one another.
Source: CloudWatch user guide, *CloudWatch search expression syntax*.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

from hashrange.cloudwatch.limits import METRIC_SEARCH_LENGTH_MAX
from hashrange.cloudwatch.math.errors import MathError
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.items.steps import spend
from hashrange.messages import metric_queries as sentences

MetricMatches = Callable[[MetricId], bool]
SEARCH_LEVELS_MAX = 50

_as_schema = re.compile(r"\s*\{([^{}]*)\}\s*,?(.*)", re.DOTALL).fullmatch
_names = re.compile(r'"([^"]*)"|([^,"\s][^,"]*)').findall
_next_token = re.compile(
    r"""\s*(?:
        (?P<sign>[()])
        | (?P<word>AND|OR|NOT)(?=[\s()]|$)
        | (?:(?P<property>:?[A-Za-z_][\w.:/-]*)\s*=\s*)?
          (?:"(?P<quoted>(?:[^"\\]|\\.)*)" | '(?P<single>[^']*)' | (?P<plain>[^\s()"'=]+))
    )""",
    re.VERBOSE | re.DOTALL,
).match
_unescaped = re.compile(r"\\(.)", re.DOTALL).sub
_pieces = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+").findall
"""Pieces of a text: words, also those that only a capital begins, and digits."""
_divided = re.compile(r"[^\W_]+").fullmatch


class TextTokens(NamedTuple):
    """What a term may be compared with, of one text."""

    text: str
    pieces: tuple[str, ...]
    """In their order, as they are written: `Custom`, `Count`, `1`."""
    lower: tuple[str, ...]
    """The same in lower case."""
    whole: str
    """All pieces together, in lower case."""
    has_signs: bool
    """True if something but letters and digits divides the text."""


@lru_cache(4_096)
def tokens_of(text: str) -> TextTokens:
    """The tokens of a name, a value or a term."""
    pieces = tuple(_pieces(text))
    lower = tuple(piece.lower() for piece in pieces)
    return TextTokens(text, pieces, lower, "".join(lower), _divided(text) is None)


class Search(NamedTuple):
    """A search that has been read."""

    namespace: str | None
    """None: any namespace."""
    dimension_names: frozenset[str]
    """All dimensions of a metric; empty: any dimensions."""
    matches: MetricMatches
    term_count: int

    def finds(self, metric: MetricId) -> bool:
        """True if the search finds this metric. 1 to 5 µs for each term."""
        spend(self.term_count + 1)
        if self.namespace is not None:
            if metric.namespace != self.namespace:
                return False
            if self.dimension_names and {name for name, _ in metric.dimensions} != self.dimension_names:
                return False
        return self.matches(metric)


def read_search(text: str) -> Search:
    """The search of a text. Raises MathError."""
    if len(text) > METRIC_SEARCH_LENGTH_MAX:
        raise MathError(sentences.SEARCH_LONG.format(most=METRIC_SEARCH_LENGTH_MAX))
    match = _as_schema(text)
    namespace, names, rest = None, [], text
    if match is not None:
        namespace, *names = [quoted or plain.strip() for quoted, plain in _names(match[1])] or [None]
        rest = match[2]
    terms = list(_terms(rest))
    if namespace is None and not terms:
        raise MathError(sentences.SEARCH_EMPTY)
    reader = _Reader(terms)
    matches = reader.any_of(0) if terms else (lambda _: True)
    reader.expect_end()
    return Search(namespace, frozenset(name for name in names if name), matches, len(terms))


class _Term(NamedTuple):
    sign: str
    """`(`, `)`, `AND`, `OR`, `NOT`; empty for a term."""
    property: str | None = None
    text: str = ""
    is_exact: bool = False


def _terms(text: str) -> Iterator[_Term]:
    place, end = 0, len(text.rstrip())
    while place < end:
        spend(2)
        match = _next_token(text, place)
        if match is None:
            raise MathError(sentences.SEARCH_UNREADABLE.format(position=place + 1))
        place = match.end()
        if match["sign"] or match["word"]:
            yield _Term(match["sign"] or match["word"])
        elif match["quoted"] is not None:
            yield _Term("", match["property"], _unescaped(r"\1", match["quoted"]), is_exact=True)
        elif match["single"] is not None:
            yield _Term("", match["property"], match["single"], is_exact=True)
        else:
            yield _Term("", match["property"], match["plain"])


class _Reader:
    """Reads terms from left to right: those side by side are combined as with AND."""

    def __init__(self, terms: list[_Term]) -> None:
        self._terms = terms
        self._place = 0

    def _next(self) -> str | None:
        """The sign that comes next: empty for a term, None at the end."""
        return self._terms[self._place].sign if self._place < len(self._terms) else None

    def expect_end(self) -> None:
        """Raise MathError unless all terms have been read."""
        sign = self._next()
        if sign is not None:
            raise MathError(sentences.SEARCH_UNEXPECTED.format(sign=sign))

    def any_of(self, level: int) -> MetricMatches:
        """Parts with OR between them."""
        parts = [self._all_of(level)]
        while self._next() == "OR":
            self._place += 1
            parts.append(self._all_of(level))
        return parts[0] if len(parts) == 1 else (lambda metric: any(part(metric) for part in parts))

    def _all_of(self, level: int) -> MetricMatches:
        parts = [self._one(level)]
        while self._next() not in {"OR", ")", None}:
            if self._next() == "AND":
                self._place += 1
            parts.append(self._one(level))
        return parts[0] if len(parts) == 1 else (lambda metric: all(part(metric) for part in parts))

    def _one(self, level: int) -> MetricMatches:
        if level > SEARCH_LEVELS_MAX:
            raise MathError(sentences.SEARCH_LEVELS.format(most=SEARCH_LEVELS_MAX))
        if self._next() is None:
            raise MathError(sentences.SEARCH_ENDS)
        term = self._terms[self._place]
        self._place += 1
        if term.sign == "NOT":
            part = self._one(level + 1)
            return lambda metric: not part(metric)
        if term.sign == "(":
            inner = self.any_of(level + 1)
            if self._next() != ")":
                raise MathError(sentences.SEARCH_PARENTHESIS)
            self._place += 1
            return inner
        if term.sign:
            raise MathError(sentences.SEARCH_UNEXPECTED.format(sign=term.sign))
        fits = _fits_exactly if term.is_exact else _fits
        wanted = tokens_of(term.text)
        return lambda metric: any(fits(tokens_of(text), wanted) for text in _texts(metric, term.property))


def _texts(metric: MetricId, wanted: str | None) -> Iterator[str]:
    """The texts of a metric that a term may be in."""
    if wanted in {None, "MetricName"}:
        yield metric.name
    if wanted in {None, "Namespace"}:
        yield metric.namespace
    if wanted == ":aws.AccountId":
        yield metric.account
        yield "LOCAL"
    for name, value in metric.dimensions:
        if wanted is None:
            yield name
        if wanted in {None, name}:
            yield value


def _fits_exactly(given: TextTokens, wanted: TextTokens) -> bool:
    return given.text == wanted.text


def _fits(given: TextTokens, wanted: TextTokens) -> bool:
    """True if the term is a token of the text, or tokens that follow one another.

    Then they have to be written alike, unless signs divide them in the term: `Count1` and `count-1` are in `CustomCount1`, but not `count1`.
    """
    if wanted.whole == given.whole or not wanted.pieces:
        return True
    if len(wanted.pieces) == 1:
        return wanted.whole in given.lower
    pieces, sought = (given.lower, wanted.lower) if wanted.has_signs else (given.pieces, wanted.pieces)
    count = len(sought)
    return any(pieces[place : place + count] == sought for place in range(len(pieces) - count + 1))
