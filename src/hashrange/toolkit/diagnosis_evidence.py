"""What can be seen of a table from outside? Its description, its metrics by the hour, a sample of its items, whether it
can be recovered, and which keys Contributor Insights has counted most. Each part may be missing, with a reason.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple, TypeVar

from hashrange.toolkit.failures import ToolkitFailure
from hashrange.toolkit.sampling import SampledItems, sample_items
from hashrange.toolkit.table_metrics import (
    DAY_SECONDS,
    HOUR_SECONDS,
    Metric,
    MetricValues,
    TimeWindow,
    of_operation,
    of_table,
    read_metrics,
)
from hashrange.toolkit.target import Target
from hashrange.toolkit.verdict import NotSeen

T = TypeVar("T")
READ_UNITS, WRITE_UNITS = "ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits"
LIMITS = ("ProvisionedThroughput", "KeyRangeThroughput", "AccountLimit", "MaxOnDemandThroughput")
"""What requests are throttled by, in the names of metrics."""
SIDES = ("Read", "Write")
CONFLICTS = "TransactionConflict"
PAGED, POINTED = ("Query", "Scan"), ("GetItem", "BatchGetItem", "TransactGetItems")
PARTIQL = ("ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction")
REQUESTS = (*PAGED, *POINTED, *PARTIQL, "TransactWriteItems")
RULE_KINDS = {"PKC": "units", "PKT": "throttled parts of requests"}
"""Kind of a rule of Contributor Insights that counts partition keys → what it counts."""
RULE_PREFIX = "DynamoDBContributorInsights-"
KEYS_TOLD = 3


class TopKey(NamedTuple):
    """One of the partition keys that a rule has counted most, in the last day of the window."""

    key: str
    counted: float
    of_all: float
    kind: str
    """One of RULE_KINDS."""


class TableEvidence:
    """All that is seen of a table. A part that is missing raises NotSeen when it is used."""

    def __init__(self, table: Mapping[str, Any], window: TimeWindow) -> None:
        self.table, self.window = table, window
        self._parts: dict[str, Any] = {}
        self._failures: dict[str, str] = {}

    def gather(self, part: str, gather: Callable[[], object]) -> None:
        """Keep a part, or why it is missing."""
        try:
            self._parts[part] = gather()
        except ToolkitFailure as failure:
            self._failures[part] = str(failure)

    def _part(self, part: str) -> Any:
        if part not in self._parts:
            raise NotSeen(self._failures.get(part, "Nobody has looked."))
        return self._parts[part]

    @property
    def sample(self) -> SampledItems:
        """Some items of the table."""
        found: SampledItems = self._part("sample")
        return found

    @property
    def is_recoverable(self) -> bool:
        """True if point-in-time recovery is on."""
        return bool(self._part("recovery"))

    @property
    def top_keys(self) -> list[TopKey]:
        """What Contributor Insights has counted; empty if it is off."""
        found: list[TopKey] = self._part("keys")
        return found

    def values(self, metric: Metric) -> MetricValues:
        """A metric by the hour."""
        found: dict[Metric, MetricValues] = self._part("metrics")
        if not any(found.values()):
            raise NotSeen("CloudWatch has no metrics of this table.")
        return found[metric]

    def total(self, metric: Metric) -> float:
        """The sum of a metric."""
        return sum(self.values(metric).values())

    def of_place(self, name: str, index: str | None = None) -> float:
        """The sum of a metric of the table, or of an index."""
        return self.total(of_table(name, self.name, index))

    def requests(self, *operations: str) -> float:
        """How many requests of these operations succeeded."""
        return sum(self.total(_requests(self.name, one)) for one in operations)

    def request_hours(self, operation: str) -> int:
        """In how many hours such requests succeeded."""
        return sum(count > 0 for count in self.values(_requests(self.name, operation)).values())

    def returned(self) -> float:
        """How many items Query and Scan returned."""
        return sum(self.total(of_operation("ReturnedItemCount", self.name, one)) for one in PAGED)

    @property
    def name(self) -> str:
        """The table's name."""
        return str(self.table["TableName"])

    @property
    def indexes(self) -> list[Mapping[str, Any]]:
        """Its global secondary indexes, as DescribeTable has them."""
        return list(self.table.get("GlobalSecondaryIndexes", ()))


def gather_table_evidence(target: Target, name: str, sample_max: int, now: float, days: float) -> TableEvidence:
    """Look at a table. Raises ToolkitFailure if it cannot be described."""
    table = target.ask("dynamodb", "describe_table", TableName=name)["Table"]
    evidence = TableEvidence(table, TimeWindow(now - days * DAY_SECONDS, now))
    wanted = list(_metrics(evidence))
    evidence.gather("metrics", partial(read_metrics, target, wanted, evidence.window, HOUR_SECONDS))
    evidence.gather("keys", partial(_top_keys, target, name, now))
    evidence.gather("recovery", partial(_is_recoverable, target, name))
    evidence.gather("sample", partial(_sample, target, name, sample_max))
    return evidence


def _sample(target: Target, name: str, sample_max: int) -> SampledItems:
    if sample_max == 0:
        raise ToolkitFailure("No items were read, because of --sample 0.")
    return sample_items(target, name, sample_max)


def _requests(table: str, operation: str) -> Metric:
    return of_operation("SuccessfulRequestLatency", table, operation, "SampleCount")


def _metrics(evidence: TableEvidence) -> Iterator[Metric]:
    name = evidence.name
    for place in (None, *(index["IndexName"] for index in evidence.indexes)):
        for side in SIDES:
            yield of_table(f"Consumed{side}CapacityUnits", name, place)
            yield of_table(f"{side}ThrottleEvents", name, place)
            yield from (of_table(f"{side}{limit}ThrottleEvents", name, place) for limit in LIMITS)
    yield of_table(CONFLICTS, name)
    yield from (_requests(name, operation) for operation in REQUESTS)
    yield from (of_operation("ReturnedItemCount", name, operation) for operation in PAGED)


def _is_recoverable(target: Target, name: str) -> bool:
    reply = target.ask("dynamodb", "describe_continuous_backups", TableName=name)["ContinuousBackupsDescription"]
    return bool(reply.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus") == "ENABLED")


def _top_keys(target: Target, name: str, now: float) -> list[TopKey]:
    reply = target.ask("dynamodb", "describe_contributor_insights", TableName=name)
    found = []
    for rule in reply.get("ContributorInsightsRuleList", ()):
        kind = rule.removeprefix(RULE_PREFIX).partition("-")[0]
        if kind in RULE_KINDS:
            report = target.ask(
                "cloudwatch", "get_insight_rule_report", RuleName=rule, Period=HOUR_SECONDS,
                StartTime=datetime.fromtimestamp(now - DAY_SECONDS, UTC), EndTime=datetime.fromtimestamp(now, UTC),
                MaxContributorCount=KEYS_TOLD,
            )  # fmt: skip
            found += [
                TopKey(
                    ", ".join(map(str, one["Keys"])), one["ApproximateAggregateValue"], report["AggregateValue"], kind
                )
                for one in report["Contributors"]
            ]
    return found
