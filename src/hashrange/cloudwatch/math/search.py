"""Which metrics does SEARCH find? `SEARCH('{AWS/DynamoDB,TableName} MetricName="ConsumedReadCapacityUnits"',
'Sum', 300)`.

A term is looked for in the metric's name, namespace, and names and values of dimensions;
`Property=term` in one of these. A term in double quotes has to be equal. Another one has to be a token of the text,
or several tokens that follow one another. Source: CloudWatch user guide, *CloudWatch search expression syntax*.
"""

import re
from collections.abc import Callable, Iterator
from functools import reduce
from typing import NamedTuple

from hashrange.cloudwatch.limits import METRIC_SEARCH_LENGTH_MAX
from hashrange.cloudwatch.math.searched_metrics import Places, SearchedMetrics
from hashrange.cloudwatch.math.values import MathError
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.items.steps import sort, spend
from hashrange.messages import metric_queries as sentences

FindPlaces = Callable[[SearchedMetrics], Places]
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


class Search(NamedTuple):
    """A search that has been read."""

    namespace: str | None
    """None: any namespace."""
    dimension_names: frozenset[str]
    """All dimensions of a metric; empty: any dimensions."""
    matching: FindPlaces | None
    """Finds the metrics that the terms fit; None: there are no terms."""

    def found_in(self, metrics: SearchedMetrics) -> list[MetricId]:
        """The metrics that the search finds in those of its namespace, or in all if it names none; may give way."""
        found = metrics.every
        if self.dimension_names:
            found = metrics.with_dimensions(self.dimension_names)
        if self.matching is not None:
            found = metrics.both(found, self.matching(metrics))
        return [metrics.metrics[place] for place in sort(found)]


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
    matching = reader.any_of(0) if terms else None
    reader.expect_end()
    return Search(namespace, frozenset(name for name in names if name), matching)


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

    def any_of(self, level: int) -> FindPlaces:
        """Parts with OR between them."""
        parts = [self._all_of(level)]
        while self._next() == "OR":
            self._place += 1
            parts.append(self._all_of(level))
        return lambda metrics: reduce(metrics.either, (part(metrics) for part in parts))

    def _all_of(self, level: int) -> FindPlaces:
        parts = [self._one(level)]
        while self._next() not in {"OR", ")", None}:
            if self._next() == "AND":
                self._place += 1
            parts.append(self._one(level))
        return lambda metrics: reduce(metrics.both, (part(metrics) for part in parts))

    def _one(self, level: int) -> FindPlaces:
        if level > SEARCH_LEVELS_MAX:
            raise MathError(sentences.SEARCH_LEVELS.format(most=SEARCH_LEVELS_MAX))
        if self._next() is None:
            raise MathError(sentences.SEARCH_ENDS)
        term = self._terms[self._place]
        self._place += 1
        if term.sign == "NOT":
            part = self._one(level + 1)
            return lambda metrics: metrics.others(part(metrics))
        if term.sign == "(":
            inner = self.any_of(level + 1)
            if self._next() != ")":
                raise MathError(sentences.SEARCH_PARENTHESIS)
            self._place += 1
            return inner
        if term.sign:
            raise MathError(sentences.SEARCH_UNEXPECTED.format(sign=term.sign))
        return lambda metrics: metrics.with_term(term.property, term.text, is_exact=term.is_exact)
