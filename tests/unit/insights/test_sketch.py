"""The sketch against exact counts: no count is too small, and none is too great by more than the stated error."""

import random
from collections import Counter

import pytest

from hashrange.insights.rule_counts import COUNTED_KEYS, Sketch
from hashrange.insights.summary import Merged, Summary, merged_summary
from hashrange.insights.unique_keys import UniqueKeys


def zipf_keys(rng: random.Random, keys: int, exponent: float, count: int) -> list[bytes]:
    """Keys, each rank with a weight of rank ** -exponent."""
    weights = [rank**-exponent for rank in range(1, keys + 1)]
    return [b"%d" % key for key in rng.choices(range(keys), weights, k=count)]


def unique_keys(summary: Summary) -> int:
    merged = Merged()
    merged.add(summary)
    return merged.unique_keys


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("keys", "exponent"), [(100, 1.0), (5_000, 1.2), (5_000, 0.8), (20_000, 0.0)])
def test_errors_are_as_stated(seed: int, keys: int, exponent: float) -> None:
    rng = random.Random(seed)
    sketch, exact = Sketch(), Counter[bytes]()
    for key in zipf_keys(rng, keys, exponent, 10_000):
        units = rng.choice((1, 3, 12))
        sketch.add(key, units)
        exact[key] += units
    summary, total = sketch.summary(), exact.total()
    assert summary.total == total
    assert len(summary.contributors) < 2 * COUNTED_KEYS
    assert summary.floor <= total / COUNTED_KEYS
    counted = {one.key: one for one in summary.contributors}
    for one in counted.values():
        assert exact[one.key] <= one.counted <= exact[one.key] + one.error
        assert one.error <= total / COUNTED_KEYS
    assert all(units <= summary.floor for key, units in exact.items() if key not in counted)
    assert unique_keys(summary) == pytest.approx(len(exact), rel=0.2)
    if keys < COUNTED_KEYS:
        assert {one.key: one.counted for one in counted.values()} == exact


@pytest.mark.parametrize("seed", range(4))
def test_summaries_together_state_what_is_missing(seed: int) -> None:
    rng = random.Random(seed)
    exact, summaries = Counter[bytes](), list[Summary]()
    for _ in range(10):
        sketch = Sketch()
        for key in zipf_keys(rng, 3_000, 1.0, 2_000):
            sketch.add(key, 1)
            exact[key] += 1
        summaries.append(sketch.summary().shortened(100, 10_000))
    whole = merged_summary(summaries)
    assert whole.total == exact.total()
    for one in whole.contributors:
        assert one.counted - one.error <= exact[one.key] <= one.counted + whole.floor
    assert whole.contributors[0].key == exact.most_common(1)[0][0]
    assert unique_keys(whole) == pytest.approx(len(exact), rel=0.2)


def test_few_keys_stay_exact_when_put_together() -> None:
    rng = random.Random(7)
    sketches, exact = [Sketch() for _ in range(10)], Counter[bytes]()
    for key in zipf_keys(rng, 50, 1.0, 3_000):
        rng.choice(sketches).add(key, 1)
        exact[key] += 1
    whole = merged_summary(sketch.summary().shortened(100, 10_000) for sketch in sketches)
    assert {one.key: one.counted for one in whole.contributors} == exact
    assert (unique_keys(whole), whole.floor) == (len(exact), 0)


def test_long_keys_are_bounded_in_sum() -> None:
    sketch = Sketch()
    for number in range(100):
        sketch.add(b"%03d" % number + b"x" * 997, number + 1)
    summary = sketch.summary().shortened(100, 10_000)
    assert [one.counted for one in summary.contributors] == list(range(100, 90, -1))
    assert summary.floor == 90
    assert unique_keys(summary) == pytest.approx(100, rel=0.2)
    assert len(sketch.summary().shortened(100, 10).contributors) == 1


@pytest.mark.parametrize("count", [0, 1, 50, 1_000, 30_000])
def test_unique_keys_are_about_right(count: int) -> None:
    one, other = UniqueKeys(), UniqueKeys()
    one.add(b"%d" % number for number in range(count))
    other.add(b"%d" % number for number in range(count // 2, count))
    assert one.count == pytest.approx(count, rel=0.2)
    other.add_all(one.stored())
    assert other.count == one.count


def test_a_count_is_taken_back() -> None:
    sketch = Sketch()
    for key, count in ((b"a", 3.0), (b"b", 2.0), (b"a", -1.0), (b"b", -2.0), (b"c", -1.0)):
        sketch.add(key, count)
    summary = sketch.summary()
    assert summary.total == 2.0
    assert [(one.key, one.counted) for one in summary.contributors] == [(b"a", 2.0)]
