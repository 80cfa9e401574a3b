"""Do definitions, documentation and what is recorded say the same? Name, unit, dimensions and period of each metric."""

import re
from pathlib import Path
from typing import Any

from hashrange.cloudwatch.dynamodb.definitions import ALL_METRICS
from hashrange.testing import Database
from tests.unit.metric_recording.seen import Seen, create_table, key

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"
LETTERS = {
    "T": "TableName",
    "G": "GlobalSecondaryIndexName",
    "O": "Operation",
    "type": "OperationType",
    "verb": "Verb",
    "stream": "StreamLabel",
}


def documented() -> dict[str, tuple[str, set[tuple[str, ...]], int]]:
    """Name → unit, sets of dimensions and period, as the page has them."""
    found = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("| `"):
            names, unit, dimensions, period = [cell.strip() for cell in line.strip("|").split("|")]
            sets = {
                () if one == "none" else tuple(sorted(LETTERS[letter] for letter in one.split("+")))
                for one in dimensions.split("; ")
            }
            for name in re.findall("`([A-Za-z]+)`", names):
                assert name not in found
                found[name] = (unit, sets, int(period))
    return found


def test_the_page_lists_the_metrics_that_are_defined() -> None:
    assert documented() == {one.name: (one.unit, set(one.dimensions), one.period_seconds) for one in ALL_METRICS}


def test_every_recorded_metric_is_defined(database: Database, client: Any, seen: Seen) -> None:
    create_table(client)
    client.put_item(TableName="orders", Item=key())
    client.scan(TableName="orders")
    client.execute_statement(Statement="SELECT * FROM orders")
    client.batch_execute_statement(Statements=[{"Statement": "SELECT * FROM orders WHERE pk = 'a' AND sk = 'b'"}])
    database.clock.advance(600)
    defined = {one.name: one for one in ALL_METRICS}
    for metric in seen.found():
        definition = defined[metric.name]
        assert metric.namespace == definition.namespace
        assert tuple(name for name, _ in metric.dimensions) in definition.dimensions
        points = seen.points(metric.name, metric.namespace, **dict(metric.dimensions))
        assert {point.unit for point in points} == {definition.unit}
