"""Do definitions and documentation say the same? Name, unit, dimensions, period and statistics of each metric,
and which metrics nothing feeds.
"""

import re
from pathlib import Path
from typing import NamedTuple

from hashrange.cloudwatch.dynamodb.definitions import ALL_METRICS

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"
LETTERS = {
    "T": "TableName",
    "G": "GlobalSecondaryIndexName",
    "V": "VectorIndexName",
    "O": "Operation",
    "type": "OperationType",
    "verb": "Verb",
    "stream": "StreamLabel",
    "source": "Source",
    "delegated": "DelegatedOperation",
    "`ReceivingRegion`": "ReceivingRegion",
}
FIVE = {"Minimum", "Maximum", "Average", "Sum", "SampleCount"}


class Documented(NamedTuple):
    """What the page says of a metric."""

    unit: str
    dimensions: set[tuple[str, ...]]
    period_seconds: int
    last: str
    """The last column: statistics, or why nothing feeds it."""


def documented(heading: str) -> dict[str, Documented]:
    """The metrics in the table under a heading."""
    section = PAGE.read_text(encoding="utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    found: dict[str, Documented] = {}
    for line in section.splitlines():
        if line.startswith("| `"):
            names, unit, dimensions, period, last = [cell.strip() for cell in line.strip("|").split("|")]
            sets = {
                () if one == "none" else tuple(sorted(LETTERS[letter] for letter in one.split("+")))
                for one in dimensions.split("; ")
            }
            for name in names.split(", "):
                assert name not in found
                found[name.replace("`", "")] = Documented(unit, sets, int(period), last)
    return found


def statistics(text: str) -> set[str]:
    """The statistics that a cell of the page names."""
    found = set(text.split(", "))
    return found - {"five"} | FIVE if "five" in found else found


def test_the_page_lists_the_metrics_that_are_defined() -> None:
    said = {name: (*one[:3], statistics(one.last)) for name, one in documented("What is recorded").items()}
    assert said == {
        one.name: (one.unit, set(one.dimensions), one.period_seconds, set(one.statistics)) for one in ALL_METRICS
    }


def test_metrics_that_nothing_feeds_are_listed_with_a_reason() -> None:
    others = documented("What is not recorded")
    assert {name.partition(" ")[0] for name in others} == {
        "ReplicationLatency", "PendingReplicationCount", "ConsumedWriteCapacityUnits",
    }  # fmt: skip
    assert all(one.last.endswith(".") for one in others.values())
    assert not others.keys() & {one.name for one in ALL_METRICS}


def test_the_page_names_every_dimension() -> None:
    page = PAGE.read_text(encoding="utf-8")
    names = {name for one in ALL_METRICS for dimensions in one.dimensions for name in dimensions}
    assert {name for name in names if f"`{name}`" in page} == names
    assert re.findall(r"[Nn]ot recorded, because", page) == []
