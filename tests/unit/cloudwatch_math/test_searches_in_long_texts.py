"""Searches over metrics whose dimensions are as long as they may be hold nobody up,
and keep no tokens that grow with the texts.
"""

import random
import re
import tracemalloc
from collections.abc import Sequence

import pytest

from hashrange.cloudwatch.limits import METRIC_DIMENSION_VALUE_LENGTH_MAX, METRIC_DIMENSIONS_MAX, METRIC_MATH_POINTS_MAX
from hashrange.cloudwatch.math import searched_metrics
from hashrange.cloudwatch.math.search import read_search
from hashrange.cloudwatch.math.searched_metrics import SearchedMetrics, fits, may_fit, tokens_of
from hashrange.cloudwatch.math.values import MathError
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.query_evaluation import MathBudget
from hashrange.items.steps import LOOK_STEPS
from tests.support.working import give_way_always
from tests.unit.cloudwatch_math.fake_metrics import CALLER, NAMESPACE


def long_metrics(count: int) -> list[MetricId]:
    """Metrics with as many dimensions, and as long values, as there may be. Each text has some 500 tokens."""

    def value(metric: int, dimension: int) -> str:
        return (f"{metric:06}x{dimension:02}q" + "ab12" * 256)[:METRIC_DIMENSION_VALUE_LENGTH_MAX]

    return [
        MetricId(
            *CALLER, NAMESPACE, "m", tuple((f"d{one:02}", value(number, one)) for one in range(METRIC_DIMENSIONS_MAX))
        )
        for number in range(count)
    ]


def found(metrics: Sequence[MetricId], terms: str) -> list[MetricId]:
    """What a search for the terms finds."""
    return read_search(f"{{{NAMESPACE}}} {terms}").found_in(SearchedMetrics(metrics, lambda _: None))


def characters(metrics: Sequence[MetricId]) -> int:
    """The length of all values of dimensions."""
    return sum(len(value) for metric in metrics for _, value in metric.dimensions)


@pytest.mark.parametrize("indexed_characters", [1_000_000, 0])
@pytest.mark.parametrize(
    ("terms", "expected"), [("nothing", 0), ("ab", 20), ("000007x29", 1), ("ab12" * 120 + "zz", 0), ("d07=000007", 1)]
)
def test_a_search_in_long_texts_counts_its_steps(
    monkeypatch: pytest.MonkeyPatch, indexed_characters: int, terms: str, expected: int
) -> None:
    """A search over 400 such metrics held everybody up for 0.16 s, one over 2,500 for 6 s:
    a text of 500 tokens counted two steps.
    """
    monkeypatch.setattr(searched_metrics, "INDEXED_CHARACTERS_MAX", indexed_characters)
    metrics = long_metrics(20)

    async def take_in() -> SearchedMetrics:
        return SearchedMetrics(metrics, lambda _: None)

    async def search() -> int:
        return len(read_search(f"{{{NAMESPACE}}} {terms}").found_in(searched))

    looks_taking_in, searched = give_way_always(take_in())
    looks, count = give_way_always(search())
    assert count == expected
    each_text_once = len(metrics) * METRIC_DIMENSIONS_MAX
    if indexed_characters:
        assert looks_taking_in >= each_text_once
    elif not terms.startswith("ab"):  # then no tokens of texts are needed
        assert looks >= characters(metrics) // searched_metrics.COMPARED_PER_STEP // LOOK_STEPS
    else:
        assert looks >= each_text_once


def test_a_search_keeps_nothing_and_holds_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """400 such metrics took 650 MB, and the tokens of 4,096 texts stayed after the request."""
    monkeypatch.setattr(searched_metrics, "INDEXED_CHARACTERS_MAX", 50_000)
    metrics = long_metrics(20)
    found(long_metrics(1), "nothing")
    tracemalloc.start()
    try:
        assert len(found(metrics, "nothing OR ab")) == 20
        kept_bytes, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept_bytes < 50_000
    assert most_bytes < characters(metrics) * 2


def test_searches_that_would_work_for_too_long_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As other expressions that work for too long."""
    monkeypatch.setattr(searched_metrics, "INDEXED_CHARACTERS_MAX", 0)
    metrics = long_metrics(20)
    budget = MathBudget(METRIC_MATH_POINTS_MAX)
    searched = SearchedMetrics(metrics, budget.spend)
    search = read_search(f"{{{NAMESPACE}}} ab2")
    searches = 0
    with pytest.raises(MathError, match="work on more than"):
        while searches < 100:
            assert search.found_in(searched) == []
            searches += 1
    assert 2 <= searches < 100
    rare = read_search(f"{{{NAMESPACE}}} nothing")
    searched = SearchedMetrics(metrics, MathBudget(METRIC_MATH_POINTS_MAX).spend)
    for _ in range(100):
        assert rare.found_in(searched) == []


_pieces = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+").findall


def fits_plainly(text: str, term: str) -> bool:
    """The rule, with a token after the other."""
    given, wanted = _pieces(text), _pieces(term)
    if not wanted or "".join(given).lower() == "".join(wanted).lower():
        return True
    if len(wanted) == 1 or re.fullmatch(r"[^\W_]+", term) is None:
        given, wanted = [one.lower() for one in given], [one.lower() for one in wanted]
    return any(given[place : place + len(wanted)] == wanted for place in range(len(given)))


@pytest.mark.parametrize("seed", range(5))
def test_a_term_fits_a_text_however_it_is_looked_for(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    draw = random.Random(seed)

    def text() -> str:
        return "".join(
            draw.choice(["a", "b", "A", "B", "1", "2", "-", "_", " ", "é", "É"]) for _ in range(draw.randrange(1, 7))
        )

    pairs = [(text(), text()) for _ in range(300)]
    for given, term in pairs:
        is_fitting = fits_plainly(given, term)
        assert fits(tokens_of(given), tokens_of(term)) == is_fitting
        if is_fitting and tokens_of(term).pieces:
            assert may_fit(given, tokens_of(term))
    texts = {given for given, _ in pairs}
    for indexed_characters in (0, 500, 1_000_000):
        monkeypatch.setattr(searched_metrics, "INDEXED_CHARACTERS_MAX", indexed_characters)
        searched = searched_metrics.SearchedTexts(lambda _: None)
        for one in texts:
            searched.add(one)
        for _, term in pairs[:50]:
            if tokens_of(term).pieces:
                assert set(searched.fitting(term)) == {one for one in texts if fits_plainly(one, term)}


def test_a_property_is_found_only_where_it_has_the_text() -> None:
    metrics = [
        MetricId(*CALLER, NAMESPACE, "Load", (("a", "one"), ("b", "two"))),
        MetricId(*CALLER, NAMESPACE, "one", (("a", "two"), ("b", "one-two"))),
    ]
    assert found(metrics, "a=one") == metrics[:1]
    assert found(metrics, "b=two") == metrics
    assert found(metrics, "a='two'") == found(metrics, "MetricName=one") == metrics[1:]
    assert (
        found(metrics, "one")
        == found(metrics, f"Namespace={NAMESPACE}")
        == found(metrics, ":aws.AccountId=LOCAL")
        == metrics
    )
    assert found(metrics, f":aws.AccountId='{CALLER.account}'") == found(metrics, "b=--") == metrics
    assert found(metrics, "c=one") == found(metrics, ":aws.AccountId=1234") == found(metrics, "LOCAL") == []
