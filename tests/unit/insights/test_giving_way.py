"""Reports of long times give way: a day of many keys in each minute takes a second,
and other requests do not wait for it.
"""

import asyncio
import random
from collections.abc import Callable

import pytest

from hashrange.insights.report import RuleReport, metrics_of
from hashrange.insights.rule_counts import RuleCounts
from tests.support.working import lines_between_looks
from tests.unit.insights.test_rule_counts import FIRST_MINUTE, OwnDocuments

MINUTES = 90
LINES_MAX = 5_000
"""Some two milliseconds."""


@pytest.fixture(scope="module")
def counts() -> RuleCounts:
    """Counts of minutes with so many keys that their number is estimated, and of one with few."""
    rng, counts = random.Random(5), RuleCounts(OwnDocuments(), "a/", lambda: None)
    for minute in range(FIRST_MINUTE, FIRST_MINUTE + MINUTES):
        for number in range(1 if minute == FIRST_MINUTE else 600):
            counts.add(b"%d" % rng.randrange(10**6), 1 + number % 7, minute)
    asyncio.run(counts.save((FIRST_MINUTE + MINUTES) * 60, OwnDocuments.generation))
    return counts


def read_report(counts: RuleCounts) -> RuleReport:
    report = RuleReport(FIRST_MINUTE * 60, 60)
    report.read(counts, (FIRST_MINUTE + MINUTES) * 60, (FIRST_MINUTE + MINUTES) * 60)
    return report


@pytest.mark.parametrize(
    "work",
    [
        lambda report: report.whole.unique_keys,
        lambda report: report.top(25, by_maximum=False),
        lambda report: report.top(25, by_maximum=True),
        lambda report: [metrics_of(period) for period in report.periods.values()],
    ],
    ids=["unique keys", "sums", "maxima", "metrics"],
)
def test_what_is_made_of_a_report_gives_way(counts: RuleCounts, work: Callable[[RuleReport], object]) -> None:
    report = read_report(counts)
    assert lines_between_looks(lambda: work(report)) < LINES_MAX


def test_reading_gives_way(counts: RuleCounts) -> None:
    assert lines_between_looks(lambda: read_report(counts)) < LINES_MAX
