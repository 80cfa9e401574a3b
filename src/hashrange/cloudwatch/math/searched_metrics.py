"""Which of many metrics have a text? Their texts and tokens are collected once for all searches of a request, which then work on sets of metrics."""

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from hashrange.cloudwatch.math.text_tokens import TextTokens, fits, tokens_of
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.items.steps import spend, walk

TEXT_STEPS = 2
"""Steps that taking in one text of a metric takes."""
MEMBERS_PER_STEP = 16
"""Members of sets that are put together in one step."""
Places = AbstractSet[int]
"""Places of metrics in their sequence."""
NOWHERE: Places = frozenset()


class _Texts:
    """The texts that one property has: which metrics have each, and which texts have a token."""

    def __init__(self) -> None:
        self.places: dict[str, set[int]] = {}
        """Text → places of the metrics that have it."""
        self._by_token: dict[str, list[TextTokens]] = {}
        """Token in lower case, or all tokens of a text together → texts."""

    def add(self, text: str, place: int) -> None:
        """Note that a metric has a text."""
        spend(TEXT_STEPS)
        places = self.places.get(text)
        if places is not None:
            places.add(place)
            return
        self.places[text] = {place}
        tokens = tokens_of(text)
        for token in {*tokens.lower, tokens.whole}:
            self._by_token.setdefault(token, []).append(tokens)

    def fitting(self, wanted: TextTokens) -> Iterator[str]:
        """The texts that a term fits, some of them twice; may give way."""
        if not wanted.pieces:
            yield from walk(self.places)
            return
        for token in {wanted.lower[0], wanted.whole}:
            for given in walk(self._by_token.get(token, ())):
                if fits(given, wanted):
                    yield given.text


class SearchedMetrics:
    """Metrics in which the searches of one request look for terms. All methods may give way."""

    def __init__(self, metrics: Sequence[MetricId], count: Callable[[int], None]) -> None:
        """`count` is called with the number of metrics that are about to be put together; it may raise."""
        self.metrics = metrics
        self.every: Places = frozenset(range(len(metrics)))
        self._count_members = count
        self._all = _Texts()
        self._properties: dict[str, _Texts] = {}
        self._by_names: dict[frozenset[str], set[int]] = {}
        """Names of all dimensions → the metrics that have exactly these."""
        self._count(len(metrics))
        for place, metric in enumerate(metrics):
            self._take_in(metric, place)

    def _take_in(self, metric: MetricId, place: int) -> None:
        self._add("MetricName", metric.name, place)
        self._add("Namespace", metric.namespace, place)
        for account in (metric.account, "LOCAL"):
            self._properties.setdefault(":aws.AccountId", _Texts()).add(account, place)
        for name, value in metric.dimensions:
            self._all.add(name, place)
            self._add(name, value, place)
        self._by_names.setdefault(frozenset(name for name, _ in metric.dimensions), set()).add(place)

    def _add(self, name: str, text: str, place: int) -> None:
        self._all.add(text, place)
        self._properties.setdefault(name, _Texts()).add(text, place)

    def with_dimensions(self, names: frozenset[str]) -> Places:
        """The metrics with exactly these dimensions."""
        return self._by_names.get(names, NOWHERE)

    def with_term(self, name: str | None, text: str, *, is_exact: bool) -> Places:
        """The metrics with a text that is equal to a term, or that the term fits. `name`: the property that has the text; None: any."""
        texts = self._all if name is None else self._properties.get(name)
        if texts is None:
            return NOWHERE
        if is_exact:
            return texts.places.get(text, NOWHERE)
        found: set[int] = set()
        for one in texts.fitting(tokens_of(text)):
            places = texts.places[one]
            self._count(len(places))
            found |= places
        return found

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
