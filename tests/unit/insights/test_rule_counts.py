"""What is kept of a rule's counts: minutes for a day, hours for 15 days, as documents,
with every count in exactly one of them.
"""

import asyncio
import random
from collections.abc import Mapping, Sequence

import pytest

from hashrange.insights.rule_counts import HOUR_MINUTES, HOURS_KEPT, KEYS_KEPT, MINUTES_KEPT_HOURS, RuleCounts
from hashrange.store.documents import NOTHING_READ

FIRST_MINUTE = 30_000_000


class OwnDocuments:
    """Documents in a dict. `refuses`: writes raise an error."""

    generation = 1

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.refuses = False

    def get(self, name: str) -> bytes | None:
        return self.kept.get(name)

    async def read(self, name: str) -> bytes | None:
        return self.get(name)

    def below(self, prefix: str) -> Sequence[tuple[str, bytes]]:
        return sorted((name, value) for name, value in self.kept.items() if name.startswith(prefix))

    def some_below(self, prefix: str, after: str | None, count: int) -> Sequence[tuple[str, bytes]]:
        return [one for one in self.below(prefix) if after is None or one[0] > after][:count]

    async def write(
        self,
        changes: Mapping[str, bytes | None],
        generation: int | None = None,
        read: Mapping[str, bytes | None] = NOTHING_READ,
    ) -> bool:
        if self.refuses:
            raise OSError
        if any(self.get(one) != read[one] for one in read):
            return False
        for name, value in changes.items():
            self.kept.pop(name, None)
            if value is not None:
                self.kept[name] = value
        return True


def save(counts: RuleCounts, now_seconds: float) -> None:
    asyncio.run(counts.save(now_seconds, OwnDocuments.generation))


def total(counts: RuleCounts, now_minute: int) -> float:
    return sum(one.total for _, one in counts.between(0, (now_minute + 1) * 60, now_minute * 60))


def test_counts_are_kept_however_often_they_are_saved() -> None:
    rng, documents = random.Random(1), OwnDocuments()
    counts, minute, expected = RuleCounts(documents, "a/", lambda: None), FIRST_MINUTE, 0
    by_minute: dict[float, float] = {}
    for _ in range(500):
        counts.add(b"%d" % rng.randrange(20), 1, minute)
        by_minute[minute * 60.0] = by_minute.get(minute * 60.0, 0) + 1
        expected += 1
        if rng.random() < 0.2:
            save(counts, minute * 60)
        if rng.random() < 0.1:
            save(counts, minute * 60)
            counts = RuleCounts(documents, "a/", lambda: None)  # as after a restart
        minute += rng.choice((0, 0, 1, 2))
    found: dict[float, float] = {}
    for at, one in counts.between(0, minute * 60 + 1, minute * 60):
        found[at] = found.get(at, 0) + one.total
    assert found == by_minute
    assert list(found) == sorted(found)
    assert total(counts, minute) == expected


def test_old_minutes_become_hours_and_old_hours_end() -> None:
    documents = OwnDocuments()
    counts = RuleCounts(documents, "a/", lambda: None)
    hours = HOURS_KEPT + 30
    for hour in range(hours):
        for minute in (0, 30):
            counts.add(b"key", 1, FIRST_MINUTE + hour * HOUR_MINUTES + minute)
        save(counts, (FIRST_MINUTE + hour * HOUR_MINUTES + 30) * 60)
    now_minute = FIRST_MINUTE + (hours - 1) * HOUR_MINUTES + 30
    found = list(counts.between(0, now_minute * 60 + 1, now_minute * 60))
    assert sum(one.total for _, one in found) == 2 * HOURS_KEPT
    assert len(found) == HOURS_KEPT + MINUTES_KEPT_HOURS
    assert len(documents.kept) == HOURS_KEPT
    later = now_minute + HOURS_KEPT * HOUR_MINUTES
    assert list(counts.between(0, later * 60 + 1, later * 60)) == []


def test_a_failed_save_loses_nothing() -> None:
    documents = OwnDocuments()
    counts = RuleCounts(documents, "a/", lambda: None)
    counts.add(b"key", 1, FIRST_MINUTE)
    documents.refuses = True
    with pytest.raises(OSError):
        save(counts, FIRST_MINUTE * 60)
    counts.add(b"key", 1, FIRST_MINUTE)
    assert total(counts, FIRST_MINUTE) == 2
    documents.refuses = False
    save(counts, FIRST_MINUTE * 60)
    assert total(RuleCounts(documents, "a/", lambda: None), FIRST_MINUTE) == 2
    assert not counts._unsaved


def test_documents_stay_small() -> None:
    rng, documents = random.Random(2), OwnDocuments()
    counts = RuleCounts(documents, "a/", lambda: None)
    for minute in range(3 * HOUR_MINUTES):
        for _ in range(1_000):
            counts.add(rng.randbytes(150), 1, FIRST_MINUTE + minute)
    save(counts, (FIRST_MINUTE + 3 * HOUR_MINUTES) * 60)
    assert max(map(len, documents.kept.values())) < HOUR_MINUTES * (KEYS_KEPT * 200 + 1_000)
    assert total(RuleCounts(documents, "a/", lambda: None), FIRST_MINUTE + 3 * HOUR_MINUTES) == 180_000


def test_each_minute_wakes_and_so_does_the_first_count_after_a_save() -> None:
    woken: list[int] = []
    counts = RuleCounts(OwnDocuments(), "a/", lambda: woken.append(1))
    expected = 0
    for minute in range(FIRST_MINUTE, FIRST_MINUTE + 3):
        for _ in range(2):
            counts.add(b"key", 1, minute)
        expected += 1
        assert len(woken) == expected
    save(counts, (FIRST_MINUTE + 2) * 60)
    counts.add(b"key", 1, FIRST_MINUTE + 2)
    assert len(woken) == expected + 1
