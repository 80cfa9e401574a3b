"""What tests of insights see: a table with an index of each kind, its rules, and their reports."""

from datetime import UTC, datetime, timedelta
from typing import Any

from botocore.config import Config

from hashrange.testing.database import Database

ONCE = Config(retries={"total_max_attempts": 1})


def key_schema(partition: str, sort: str | None = None) -> list[dict[str, str]]:
    names = [(partition, "HASH")] + ([] if sort is None else [(sort, "RANGE")])
    return [{"AttributeName": name, "KeyType": key_type} for name, key_type in names]


TABLE: dict[str, Any] = {
    "TableName": "visits",
    "KeySchema": key_schema("page", "at"),
    "AttributeDefinitions": [
        {"AttributeName": "page", "AttributeType": "S"},
        {"AttributeName": "at", "AttributeType": "N"},
        {"AttributeName": "who", "AttributeType": "S"},
        {"AttributeName": "seconds", "AttributeType": "N"},
        {"AttributeName": "token", "AttributeType": "B"},
    ],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "by-seconds",
            "KeySchema": key_schema("page", "seconds"),
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
    "GlobalSecondaryIndexes": [
        {"IndexName": "by-who", "KeySchema": key_schema("who"), "Projection": {"ProjectionType": "ALL"}},
        {
            "IndexName": "by-token",
            "KeySchema": key_schema("who", "token"),
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        },
    ],
    "BillingMode": "PAY_PER_REQUEST",
}


def watch(client: Any, table: str = "visits", **members: str) -> dict[str, str]:
    """Watch a table or index; returns its rules by kind."""
    place = {"TableName": table} | ({"IndexName": members.pop("IndexName")} if "IndexName" in members else {})
    client.update_contributor_insights(**place, ContributorInsightsAction="ENABLE", **members)
    rules = client.describe_contributor_insights(**place)["ContributorInsightsRuleList"]
    return {rule.split("-")[1]: rule for rule in rules}


def report(database: Database, rule: str, region: str | None = None, **members: Any) -> Any:
    """The report of the last hour."""
    now = datetime.fromtimestamp(database.clock.now(), UTC)
    options = {} if region is None else {"region_name": region}
    return database.client("cloudwatch", **options).get_insight_rule_report(
        **{
            "RuleName": rule,
            "StartTime": now - timedelta(hours=1),
            "EndTime": now + timedelta(minutes=1),
            "Period": 60,
            "MaxContributorCount": 25,
            **members,
        }
    )


def values(database: Database, rule: str, **members: Any) -> dict[str, float]:
    """Keys, joined by commas → values."""
    found = report(database, rule, **members)["Contributors"]
    return {",".join(one["Keys"]): one["ApproximateAggregateValue"] for one in found}


def units(reply: Any, index: str | None = None) -> float:
    """Units in a reply: of a global index, or of the table with its local indexes."""
    used = reply["ConsumedCapacity"]
    used = used[0] if isinstance(used, list) else used
    of_indexes = used.get("GlobalSecondaryIndexes", {})
    if index is not None:
        return float(of_indexes.get(index, {"CapacityUnits": 0})["CapacityUnits"])
    return float(used["CapacityUnits"] - sum(one["CapacityUnits"] for one in of_indexes.values()))
