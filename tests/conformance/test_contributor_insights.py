"""Contributor Insights as a whole: switched on, a hot key is found with the units that its requests have
reported, and switched off again.
"""

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from botocore.config import Config

from tests.conformance.conftest import ACCESS_KEY, REGION, SECRET_KEY
from tests.conformance.propagation import propagated
from tests.conformance.tables import create_request, definitions, fresh_name, index, keys
from tests.support.raw_client import RawClient

INDEXES = "INDEXES"


@pytest.fixture(scope="module")
def cloudwatch(endpoint: str) -> Any:
    return boto3.client(
        "cloudwatch",
        endpoint_url=endpoint,
        region_name=REGION,
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY,
        config=Config(retries={"total_max_attempts": 1}),
    )


@pytest.fixture
def name(client: Any) -> Iterator[str]:
    """A table with a global index, of which nothing is watched yet.
    It is deleted at the end, because other tests list all that is watched.
    """
    name = fresh_name()
    client.create_table(
        **create_request(
            name,
            AttributeDefinitions=definitions("id", "at", "who"),
            KeySchema=keys("id", "at"),
            LocalSecondaryIndexes=[index("local", "id", "who")],
            GlobalSecondaryIndexes=[index("global", "who")],
        )
    )
    client.get_waiter("table_exists").wait(TableName=name)
    yield name
    with suppress(client.exceptions.ResourceNotFoundException):
        client.delete_table(TableName=name)


def item(partition: str, at: int, size_bytes: int) -> dict[str, Any]:
    return {"id": {"S": partition}, "at": {"S": str(at)}, "who": {"S": "ann"}, "text": {"S": "x" * size_bytes}}


def table_units(reply: Any) -> float:
    """Units of the table with its local indexes."""
    used = reply["ConsumedCapacity"]
    of_global = used.get("GlobalSecondaryIndexes", {}).values()
    return float(used["CapacityUnits"] - sum(one["CapacityUnits"] for one in of_global))


def report(cloudwatch: Any, rule: str) -> Any:
    now = datetime.now(UTC)
    return cloudwatch.get_insight_rule_report(
        RuleName=rule,
        StartTime=now - timedelta(hours=1),
        EndTime=now + timedelta(minutes=5),
        Period=60,
        MaxContributorCount=25,
        Metrics=["MaxContributorValue"],
    )


def test_a_hot_key_is_found_with_its_units(raw: RawClient, client: Any, cloudwatch: Any, name: str) -> None:
    for place in ({}, {"IndexName": "global"}):
        client.update_contributor_insights(TableName=name, ContributorInsightsAction="ENABLE", **place)
        client.get_waiter("contributor_insights_enabled").wait(TableName=name, **place)
    described = client.describe_contributor_insights(TableName=name)
    rules = {rule.split("-")[1]: rule for rule in described["ContributorInsightsRuleList"]}
    assert list(rules) == ["PKC", "SKC", "PKT", "SKT"]
    of_index = client.describe_contributor_insights(TableName=name, IndexName="global")["ContributorInsightsRuleList"]
    expected = {"hot": 0.0, "cold": 0.0}
    expected_of_index = 0.0
    for number in range(20):
        partition = "cold" if number % 5 == 0 else "hot"
        reply = client.put_item(
            TableName=name, Item=item(partition, number, 300 * number), ReturnConsumedCapacity=INDEXES
        )
        expected[partition] += 3 * table_units(reply)
        expected_of_index += 3 * reply["ConsumedCapacity"]["GlobalSecondaryIndexes"]["global"]["CapacityUnits"]
    key = {"id": {"S": "hot"}, "at": {"S": "1"}}
    expected["hot"] += table_units(client.get_item(TableName=name, Key=key, ReturnConsumedCapacity=INDEXES))
    values = {"ExpressionAttributeValues": {":id": {"S": "hot"}}, "KeyConditionExpression": "id = :id"}
    pages: list[dict[str, Any]] = [
        {"ConsistentRead": True},
        {"IndexName": "local"},
        {"IndexName": "local", "Select": "ALL_ATTRIBUTES"},
    ]
    for place in pages:
        expected["hot"] += table_units(client.query(TableName=name, **values, **place, ReturnConsumedCapacity=INDEXES))
    propagated(raw)
    found = report(cloudwatch, rules["PKC"])
    assert {one["Keys"][0]: one["ApproximateAggregateValue"] for one in found["Contributors"]} == pytest.approx(
        expected
    )
    assert found["Contributors"][0]["Keys"] == ["hot"]
    assert found["KeyLabels"] == ["id"]
    assert found["AggregateValue"] == pytest.approx(sum(expected.values()))
    assert len(report(cloudwatch, rules["SKC"])["Contributors"]) == 20
    (entries,) = report(cloudwatch, of_index[0])["Contributors"]
    assert (entries["Keys"], entries["ApproximateAggregateValue"]) == (["ann"], expected_of_index)


def test_rules_are_listed_and_go_when_they_are_switched_off(client: Any, cloudwatch: Any, name: str) -> None:
    client.update_contributor_insights(TableName=name, ContributorInsightsAction="ENABLE")
    rules = client.describe_contributor_insights(TableName=name)["ContributorInsightsRuleList"]
    described = {one["Name"]: one for one in cloudwatch.describe_insight_rules()["InsightRules"]}
    assert set(rules) <= set(described)
    assert all(described[rule]["State"] == "ENABLED" and described[rule]["ManagedRule"] for rule in rules)
    listed = client.list_contributor_insights(TableName=name)["ContributorInsightsSummaries"]
    assert {"TableName": name, "ContributorInsightsStatus": "ENABLED",
            "ContributorInsightsMode": "ACCESSED_AND_THROTTLED_KEYS"} in listed  # fmt: skip
    client.update_contributor_insights(TableName=name, ContributorInsightsAction="DISABLE")
    assert not set(rules) & {one["Name"] for one in cloudwatch.describe_insight_rules()["InsightRules"]}
    with pytest.raises(cloudwatch.exceptions.ResourceNotFoundException):
        report(cloudwatch, rules[0])
    client.update_contributor_insights(TableName=name, ContributorInsightsAction="ENABLE")
    again = client.describe_contributor_insights(TableName=name)["ContributorInsightsRuleList"]
    assert not set(again) & set(rules)
    assert report(cloudwatch, again[0])["Contributors"] == []
    client.delete_table(TableName=name)
    assert not set(again) & {one["Name"] for one in cloudwatch.describe_insight_rules()["InsightRules"]}
    assert name not in {one["TableName"] for one in client.list_contributor_insights()["ContributorInsightsSummaries"]}


def test_enable_without_a_mode_means_the_usual_one(client: Any, name: str) -> None:
    place = {"TableName": name}
    modes = []
    for mode in ({"ContributorInsightsMode": "THROTTLED_KEYS"}, {}):
        client.update_contributor_insights(**place, ContributorInsightsAction="ENABLE", **mode)
        described = client.describe_contributor_insights(**place)
        modes.append((described["ContributorInsightsMode"], len(described["ContributorInsightsRuleList"])))
    assert modes == [("THROTTLED_KEYS", 2), ("ACCESSED_AND_THROTTLED_KEYS", 4)]
    client.update_contributor_insights(**place, ContributorInsightsAction="DISABLE")
