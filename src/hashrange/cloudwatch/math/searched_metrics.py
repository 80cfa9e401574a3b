"""Which of many metrics have a text? Their texts are collected once for all searches of a request,
which then work on sets of metrics.

The tokens of the first texts are kept; the other texts are read again for each term. So memory does not grow with
the texts: tokens take several times as much as their text. They are kept in one string; a string for each would take
sixty times the memory of the text. Source: CloudWatch user guide, *CloudWatch search expression syntax*.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from hashrange.cloudwatch.metric_id import MetricId
from hashrange.items.steps import spend, walk

TEXT_STEPS = 2
"""Steps that taking in one text of a metric takes."""
MEMBERS_PER_STEP = 16
"""Members of sets that are put together in one step."""
ACCOUNT = ":aws.AccountId"
"""The property of every metric that has the account, or `LOCAL`; no term without a property is looked for in it."""
Places = AbstractSet[int]
"""Places of metrics in their sequence."""
NOWHERE: Places = frozenset()
INDEXED_CHARACTERS_MAX = 1_000_000
"""Characters of the texts whose tokens are kept: 50 of each of 20,000 metrics. Their tokens take up to 65 MB."""
CHARACTERS_PER_STEP = 4
"""Characters of a text whose tokens are found in one step."""
COMPARED_PER_STEP = 256
"""Characters of a text with which a term is compared in one step."""
POINTS_PER_STEP = 4
"""A step over texts whose tokens are not kept costs a request as much as this many datapoints."""


# --- tokens of one text ----------------------------------------------------------------------------

_pieces = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+").findall
"""Pieces of a text: words, also those that only a capital begins, and digits."""
_without_signs = re.compile(r"[\W_]+").sub
HEAD_LENGTH = 32
"""Characters of a text that show in most cases whether all of its pieces together can be those of a term."""
_divided = re.compile(r"[^\W_]+").fullmatch


class TextTokens(NamedTuple):
    """What a term may be compared with, of one text."""

    text: str
    pieces: str
    """In their order, as they are written, with a blank before and after each:
    ` Custom Count 1 `. Empty if there are none."""
    lower: str
    """`pieces` in lower case."""
    whole: str
    """All pieces together, in lower case."""
    has_signs: bool
    """True if something but letters and digits divides the text."""

    @property
    def first(self) -> str:
        """The first piece in lower case; there must be one."""
        return self.lower[1 : self.lower.index(" ", 1)]


def tokens_of(text: str) -> TextTokens:
    """The tokens of a name, a value or a term: up to 0.2 ms for 1,024 characters."""
    pieces = _pieces(text)
    if not pieces:
        return TextTokens(text, "", "", "", _divided(text) is None)
    lower = [piece.lower() for piece in pieces]
    return TextTokens(text, f" {' '.join(pieces)} ", f" {' '.join(lower)} ", "".join(lower), _divided(text) is None)


def fits(given: TextTokens, wanted: TextTokens) -> bool:
    """True if the term is a token of the text, or tokens that follow one another.

    Then they have to be written alike, unless signs divide them in the term:
    `Count1` and `count-1` are in `CustomCount1`, but not `count1`.
    """
    if wanted.whole == given.whole or not wanted.pieces:
        return True
    if wanted.has_signs or wanted.pieces.count(" ") == 2:
        return wanted.lower in given.lower
    return wanted.pieces in given.pieces


def may_fit(text: str, wanted: TextTokens) -> bool:
    """False if it is certain without the text's tokens that the term, which has pieces, does not fit it: 1 µs."""
    if not text.isascii():
        return True
    lower = text.lower()
    if wanted.first in lower:
        return True
    return len(wanted.whole) <= len(lower) and wanted.whole.startswith(_without_signs("", lower[:HEAD_LENGTH]))


# --- texts of many metrics ------------------------------------------------------------------------


class SearchedTexts:
    """The texts of the metrics that one request searches. All methods may give way."""

    def __init__(self, count: Callable[[int], None]) -> None:
        """`count` is called with the cost of each comparison in datapoints; it may raise."""
        self._count = count
        self._by_token: dict[str, list[TextTokens]] = {}
        """Token in lower case, or all tokens of a text together → texts."""
        self._others: list[str] = []
        """Texts whose tokens are not kept."""
        self._left = INDEXED_CHARACTERS_MAX

    def add(self, text: str) -> None:
        """Add a text, which must be new."""
        if len(text) > self._left:
            spend(1)
            self._others.append(text)
            return
        self._left -= len(text)
        spend(len(text) // CHARACTERS_PER_STEP + 1)
        tokens = tokens_of(text)
        for token in {*tokens.lower.split(), tokens.whole}:
            self._by_token.setdefault(token, []).append(tokens)

    def fitting(self, text: str) -> Iterator[str]:
        """The texts that a term with tokens fits, some of them twice.
        Each is compared in time that grows with its length.
        """
        spend(len(text) // CHARACTERS_PER_STEP + 1)
        wanted = tokens_of(text)
        for token in {wanted.first, wanted.whole}:
            for given in self._by_token.get(token, ()):
                steps = len(given.lower) // COMPARED_PER_STEP + 1
                spend(steps)
                self._count(steps)
                if fits(given, wanted):
                    yield given.text
        for other in self._others:
            self._spend(len(other) // COMPARED_PER_STEP + 1)
            if may_fit(other, wanted):
                self._spend(len(other) // CHARACTERS_PER_STEP)
                if fits(tokens_of(other), wanted):
                    yield other

    def _spend(self, steps: int) -> None:
        spend(steps)
        self._count(steps * POINTS_PER_STEP)


class SearchedMetrics:
    """Metrics in which the searches of one request look for terms. All methods may give way."""

    def __init__(self, metrics: Sequence[MetricId], count: Callable[[int], None]) -> None:
        """`count` is called with the number of metrics that are about to be put together; it may raise."""
        self.metrics = metrics
        self.every: Places = frozenset(range(len(metrics)))
        self._count_members = count
        self._texts = SearchedTexts(count)
        self._places: dict[str, int | set[int]] = {}
        """Text → place of the metric that has it or, if there are several, their places."""
        self._by_names: dict[frozenset[str], set[int]] = {}
        """Names of all dimensions → the metrics that have exactly these."""
        self._count(len(metrics))
        for place, metric in enumerate(metrics):
            self._take_in(metric, place)

    def _take_in(self, metric: MetricId, place: int) -> None:
        self._add(metric.name, place)
        self._add(metric.namespace, place)
        for name, value in metric.dimensions:
            self._add(name, place)
            self._add(value, place)
        self._by_names.setdefault(frozenset(name for name, _ in metric.dimensions), set()).add(place)

    def _add(self, text: str, place: int) -> None:
        """Note that a metric has a text."""
        spend(TEXT_STEPS)
        known = self._places.get(text)
        if known is None:
            self._places[text] = place
            self._texts.add(text)
        elif not isinstance(known, int):
            known.add(place)
        elif known != place:
            self._places[text] = {known, place}

    def with_dimensions(self, names: frozenset[str]) -> Places:
        """The metrics with exactly these dimensions."""
        return self._by_names.get(names, NOWHERE)

    def with_term(self, name: str | None, text: str, *, is_exact: bool) -> Places:
        """The metrics with a text that is equal to a term, or that the term fits.
        `name`: the property that has the text; None: any.
        """
        if name == ACCOUNT:
            return self._of_account(text, is_exact=is_exact)
        found: set[int] = set()
        for one in self._equal_or_fitting(text, is_exact=is_exact):
            places = self._with_text(one)
            self._count(len(places))
            found |= places if name is None else self._with_property(name, one, places)
        return found

    def _equal_or_fitting(self, text: str, *, is_exact: bool) -> Iterator[str]:
        """The texts that a term is equal to or fits, some of them twice."""
        if is_exact:
            return iter((text,))
        if not tokens_of(text).pieces:
            return iter(walk(self._places))
        return self._texts.fitting(text)

    def _with_text(self, text: str) -> Places:
        places = self._places.get(text, NOWHERE)
        return {places} if isinstance(places, int) else places

    def _with_property(self, name: str, text: str, places: Places) -> set[int]:
        """The places of the metrics whose property of this name is the text."""
        found = set()
        for place in walk(places):
            metric = self.metrics[place]
            if (
                (name == "MetricName" and metric.name == text)
                or (name == "Namespace" and metric.namespace == text)
                or (name, text) in metric.dimensions
            ):
                found.add(place)
        return found

    def _of_account(self, text: str, *, is_exact: bool) -> Places:
        """The metrics whose account is equal to a term, or that the term fits."""
        wanted = tokens_of(text)
        accounts = {metric.account for metric in walk(self.metrics)}
        found = {one for one in {*accounts, "LOCAL"} if (one == text if is_exact else fits(tokens_of(one), wanted))}
        if "LOCAL" in found or found == accounts:
            return self.every
        return {place for place, metric in enumerate(walk(self.metrics)) if metric.account in found}

    def both(self, one: Places, other: Places) -> Places:
        """The metrics that are in both sets."""
        self._count(min(len(one), len(other)))
        return one & other

    def either(self, one: Places, other: Places) -> Places:
        """The metrics that are in at least one of two sets."""
        self._count(len(one) + len(other))
        return one | other

    def others(self, found: Places) -> Places:
        """All metrics that are not in a set."""
        self._count(len(self.every))
        return self.every - found

    def _count(self, members: int) -> None:
        spend(members // MEMBERS_PER_STEP + 1)
        self._count_members(members)
