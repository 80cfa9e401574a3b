"""The sketch against exact counts: no count is too small, and none is too great by more than the stated error."""

import random

import pytest

from hashrange.insights.rule_counts import MINUTES_KEPT, RuleCounts
from hashrange.insights.sketch import COUNTED_KEYS, Sketch, merged_sketch


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("keys", [100, 5_000])
def test_errors_are_as_stated(seed: int, keys: int) -> None:
    rng = random.Random(seed)
    sketch, exact = Sketch(), dict[bytes, float]()
    for _ in range(20_000):
        key = b"%d" % int(rng.paretovariate(0.7) % keys)
        units = rng.choice((0.5, 1.0, 3.0))
        sketch.add(key, units)
        exact[key] = exact.get(key, 0.0) + units
    total = sum(exact.values())
    assert sketch.total == pytest.approx(total)
    assert sketch.floor <= total / COUNTED_KEYS
    top = sketch.top(COUNTED_KEYS)
    for one in top:
        assert exact.get(one.key, 0.0) <= one.counted + 1e-6
        assert one.counted - one.error <= exact.get(one.key, 0.0) + 1e-6
    known = {one.key for one in top}
    assert all(key in known for key, units in exact.items() if units > 2 * total / COUNTED_KEYS)
    if keys <= COUNTED_KEYS:
        assert {one.key: one.counted for one in sketch.top(keys)} == pytest.approx(exact)


def test_sketches_are_put_together() -> None:
    rng = random.Random(7)
    sketches = [Sketch() for _ in range(10)]
    exact: dict[bytes, float] = {}
    for _ in range(5_000):
        key = b"%d" % int(rng.paretovariate(1) % 50)
        rng.choice(sketches).add(key, 1.0)
        exact[key] = exact.get(key, 0.0) + 1.0
    together = merged_sketch(sketches, 100)
    assert {one.key: one.counted for one in together.top(50)} == exact
    assert together.total == 5_000


def test_minutes_become_hours_and_keep_what_they_have_counted() -> None:
    counts = RuleCounts()
    begin_seconds = 1_800_000_000.0
    for minute in range(2 * MINUTES_KEPT):
        counts.add(b"a", 1.0, begin_seconds + 60 * minute)
    found = list(counts.between(0, begin_seconds * 2))
    assert sum(sketch.total for _, sketch in found) == 2 * MINUTES_KEPT
    assert len(found) < 2 * MINUTES_KEPT
    assert [at for at, _ in found] == sorted(at for at, _ in found)
