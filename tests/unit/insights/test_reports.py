"""Reports of insight rules over boto3: who has used a table's units, agreeing with ConsumedCapacity, and who was throttled."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from hashrange.settings import Settings
from hashrange.testing import server
from hashrange.testing.database import Database

ONCE = Config(retries={"total_max_attempts": 1})
TABLE = {
    "TableName": "visits",
    "KeySchema": [{"AttributeName": "page", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}],
    "AttributeDefinitions": [
        {"AttributeName": "page", "AttributeType": "S"},
        {"AttributeName": "at", "AttributeType": "N"},
        {"AttributeName": "who", "AttributeType": "S"},
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-who",
            "KeySchema": [{"AttributeName": "who", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
            "ProvisionedThroughput": {"ReadCapacityUnits": 50, "WriteCapacityUnits": 50},
        }
    ],
    "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
}


@pytest.fixture(params=["memory", "disk"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    folder = None if request.param == "memory" else str(tmp_path / "data")
    with server(Settings(data_dir=folder)) as database:
        database.clock.freeze()
        yield database


def watch(database: Database, **members: str) -> list[str]:
    """Watch a table or index; returns its rules."""
    client = database.client()
    place = {"TableName": "visits", **members}
    client.update_contributor_insights(**place, ContributorInsightsAction="ENABLE")
    rules: list[str] = client.describe_contributor_insights(**place)["ContributorInsightsRuleList"]
    return rules


def report(database: Database, rule: str, **members: Any) -> Any:
    now = datetime.fromtimestamp(database.clock.now(), UTC)
    return database.client("cloudwatch").get_insight_rule_report(
        **{
            "RuleName": rule,
            "StartTime": now - timedelta(hours=1),
            "EndTime": now + timedelta(minutes=1),
            "Period": 60,
            **members,
        }
    )


def test_units_of_keys_agree_with_consumed_capacity(database: Database) -> None:
    client = database.client()
    client.create_table(**TABLE)
    client.put_item(TableName="visits", Item={"page": {"S": "before"}, "at": {"N": "1"}})
    partitions, items, *_ = watch(database)
    who, *_ = watch(database, IndexName="by-who")
    expected: dict[str, float] = {}
    of_index = 0.0
    for number in range(12):
        page = f"page-{number % 3}"
        item = {"page": {"S": page}, "at": {"N": f"{number}.5"}, "who": {"S": "ann"}, "text": {"S": "x" * 700 * number}}
        used = client.put_item(TableName="visits", Item=item, ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"]
        expected[page] = expected.get(page, 0) + 3 * used["Table"]["CapacityUnits"]
        of_index += 3 * used["GlobalSecondaryIndexes"]["by-who"]["CapacityUnits"]
        key = {"page": {"S": page}, "at": {"N": f"{number}.5"}}
        used = client.get_item(TableName="visits", Key=key, ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"]
        expected[page] += used["CapacityUnits"]
    used = client.transact_write_items(
        TransactItems=[{"Delete": {"TableName": "visits", "Key": {"page": {"S": "page-0"}, "at": {"N": "0.5"}}}}],
        ReturnConsumedCapacity="INDEXES",
    )["ConsumedCapacity"][0]
    expected["page-0"] += 3 * used["Table"]["CapacityUnits"]
    of_index += 3 * used["GlobalSecondaryIndexes"]["by-who"]["CapacityUnits"]
    client.execute_statement(Statement="SELECT * FROM visits WHERE page = 'page-1'")  # is not counted
    found = report(database, partitions)
    assert found["KeyLabels"] == ["page"]
    assert {one["Keys"][0]: one["ApproximateAggregateValue"] for one in found["Contributors"]} == expected
    assert found["AggregateValue"] == sum(expected.values())
    assert found["ApproximateUniqueCount"] == 3
    values = [one["ApproximateAggregateValue"] for one in found["Contributors"]]
    assert values == sorted(values, reverse=True)
    assert all(
        sum(point["ApproximateValue"] for point in one["Datapoints"]) == one["ApproximateAggregateValue"]
        for one in found["Contributors"]
    )
    found = report(database, items, MaxContributorCount=25)
    assert found["KeyLabels"] == ["page", "at"]
    assert len(found["Contributors"]) == 12
    assert report(database, who)["AggregateValue"] == of_index
    metrics = report(database, partitions, Metrics=["MaxContributorValue"])["MetricDatapoints"]
    assert [one["MaxContributorValue"] for one in metrics] == [max(expected.values())]


def test_pages_are_shared_among_their_items(database: Database) -> None:
    client = database.client()
    client.create_table(**TABLE)
    for number in range(10):
        item = {"page": {"S": f"page-{number % 2}"}, "at": {"N": str(number)}, "text": {"S": "x" * 4_000}}
        client.put_item(TableName="visits", Item=item)
    partitions, *_ = watch(database)
    used = client.scan(TableName="visits", ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"]["CapacityUnits"]
    found = report(database, partitions)
    assert found["AggregateValue"] == pytest.approx(used, abs=0.5)
    one, other = (contributor["ApproximateAggregateValue"] for contributor in found["Contributors"])
    assert one == pytest.approx(other, rel=0.01)


def test_throttled_keys_are_found_in_both_modes(database: Database) -> None:
    with server(Settings(data_dir=None, throughput="enforced")) as enforced:
        enforced.clock.freeze()
        client = enforced.client(config=ONCE)
        client.create_table(**TABLE)
        client.update_contributor_insights(
            TableName="visits", ContributorInsightsAction="ENABLE", ContributorInsightsMode="THROTTLED_KEYS"
        )
        partitions, items = client.describe_contributor_insights(TableName="visits")["ContributorInsightsRuleList"]
        throttled = 0
        for number in range(310):
            item = {"page": {"S": "hot" if number > 290 else "cold"}, "at": {"N": str(number)}}
            try:
                client.put_item(TableName="visits", Item=item)
            except ClientError:
                throttled += 1
        found = report(enforced, partitions)
        assert throttled > 0
        assert [(one["Keys"], one["ApproximateAggregateValue"]) for one in found["Contributors"]] == [
            (["hot"], throttled)
        ]
        assert report(enforced, items)["ApproximateUniqueCount"] == throttled


def test_rules_are_described_and_refused_in_clear_words(database: Database) -> None:
    client, cloudwatch = database.client(), database.client("cloudwatch")
    client.create_table(**TABLE)
    rules = watch(database)
    described = cloudwatch.describe_insight_rules()["InsightRules"]
    assert [one["Name"] for one in described] == sorted(rules)
    assert all(one["ManagedRule"] for one in described)
    first = cloudwatch.describe_insight_rules(MaxResults=3)
    rest = cloudwatch.describe_insight_rules(NextToken=first["NextToken"])
    assert first["InsightRules"] + rest["InsightRules"] == described
    for members in ({"MaxContributorCount": 26}, {"Period": 61}, {"Metrics": ["None"]}, {"OrderBy": "None"}):
        with pytest.raises(cloudwatch.exceptions.InvalidParameterValueException):
            report(database, rules[0], **members)
    with pytest.raises(cloudwatch.exceptions.ResourceNotFoundException):
        report(database, "DynamoDBContributorInsights-PKC-missing-1")
    now = datetime.fromtimestamp(database.clock.now(), UTC)
    query = {"Id": "a", "Expression": f"INSIGHT_RULE_METRIC('{rules[0]}', 'UniqueContributors')", "Period": 60}
    client.get_item(TableName="visits", Key={"page": {"S": "a"}, "at": {"N": "1"}})
    found = cloudwatch.get_metric_data(
        MetricDataQueries=[query], StartTime=now - timedelta(minutes=5), EndTime=now + timedelta(minutes=1)
    )
    assert found["MetricDataResults"][0]["Values"] == [1.0]


def test_states_last_as_those_of_tables() -> None:
    with server(Settings(data_dir=None, table_state_delay_seconds=5)) as database:
        database.clock.freeze()
        client = database.client()
        client.create_table(**TABLE)
        database.clock.advance(6)
        watch(database)
        statuses = []
        for action in (None, "DISABLE"):
            if action is not None:
                client.update_contributor_insights(TableName="visits", ContributorInsightsAction=action)
            for _ in range(2):
                statuses.append(client.describe_contributor_insights(TableName="visits")["ContributorInsightsStatus"])
                database.clock.advance(6)
        assert statuses == ["ENABLING", "ENABLED", "DISABLING", "DISABLED"]


def test_a_restart_watches_on_and_forks_and_resets_know_it(tmp_path: Path) -> None:
    folder = str(tmp_path / "data")
    with server(Settings(data_dir=folder)) as database:
        database.client().create_table(**TABLE)
        rules = watch(database)
    with server(Settings(data_dir=folder)) as database:
        key = {"page": {"S": "a"}, "at": {"N": "1"}}
        database.client().get_item(TableName="visits", Key=key)
        assert report(database, rules[0])["AggregateValue"] == 0.5
        with database.fork() as fork:
            fork.client().get_item(TableName="visits", Key=key)
            assert report(fork, rules[0])["AggregateValue"] == 0.5
        database.reset()
        assert database.client("cloudwatch").describe_insight_rules()["InsightRules"] == []
