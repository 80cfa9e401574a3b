"""Which rules does a table or global index have while it is watched?
Most accessed and most throttled partition keys, and items if it has a sort key.

Source: global-tables-backup.md 8.
"""

from typing import Literal

from hashrange.limits import RULE_NAME_LENGTH_MAX
from hashrange.operations.insights.watching import Watch
from hashrange.tables.schema import Table

InsightRuleKind = Literal["PKC", "PKT", "SKC", "SKT"]
"""P: partition keys; S: partition key and sort key; KC: consumed units; KT: throttles."""

RULE_KINDS: tuple[InsightRuleKind, ...] = ("PKC", "PKT", "SKC", "SKT")


def rule_kinds(table: Table, watch: Watch) -> tuple[InsightRuleKind, ...]:
    """The rules of a table or index that is watched."""
    index = next((one for one in table.indexes if one.name == watch.index_name), None)
    keys = table.keys if index is None else index.keys
    throttled: tuple[InsightRuleKind, ...] = ("PKT", "SKT") if keys.sort_names else ("PKT",)
    if watch.mode == "THROTTLED_KEYS":
        return throttled
    return (("PKC", "SKC") if keys.sort_names else ("PKC",)) + throttled


def rule_name(kind: InsightRuleKind, watch: Watch) -> str:
    """The name of a rule, which contains when the source began to be watched, in milliseconds.
    Long names of resources are cut.
    """
    resource = watch.table_name if watch.index_name is None else f"{watch.table_name}-{watch.index_name}"
    begin, end = f"DynamoDBContributorInsights-{kind}-", f"-{watch.since_ms}"
    return f"{begin}{resource[: RULE_NAME_LENGTH_MAX - len(begin) - len(end)]}{end}"


def rule_names(table: Table, watch: Watch) -> list[str]:
    """The names of all rules of a table or index that is watched."""
    return [rule_name(kind, watch) for kind in rule_kinds(table, watch)]
