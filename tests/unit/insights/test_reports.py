"""Reports of insight rules over boto3: their members, periods, states, and that they are kept with the content."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hashrange.settings import Settings
from hashrange.testing import Fault, server
from hashrange.testing.database import Database
from tests.unit.insights.seen import ONCE, TABLE, report, values, watch

KEY = {"page": {"S": "a"}, "at": {"N": "1"}}


def test_a_report_has_datapoints_by_period(database: Database) -> None:
    client = database.client()
    client.create_table(**TABLE)
    rule = watch(client)["PKC"]
    for pages in (["a", "a", "b"], [], ["a"]):
        for page in pages:
            client.put_item(TableName="visits", Item={**KEY, "page": {"S": page}})
        database.clock.advance(60)
    found = report(database, rule, Metrics=["MaxContributorValue", "UniqueContributors", "Sum"])
    assert found["KeyLabels"] == ["page"]
    assert (found["AggregationStatistic"], found["AggregateValue"], found["ApproximateUniqueCount"]) == ("SUM", 12, 2)
    first, second = found["Contributors"]
    assert (first["Keys"], first["ApproximateAggregateValue"]) == (["a"], 9)
    assert [one["ApproximateValue"] for one in first["Datapoints"]] == [6, 3]
    assert (second["Keys"], second["ApproximateAggregateValue"]) == (["b"], 3)
    begin, end = (one["Timestamp"] for one in first["Datapoints"])
    assert end - begin == timedelta(minutes=2)
    metrics = found["MetricDatapoints"]
    assert [
        (one["Timestamp"], one["MaxContributorValue"], one["UniqueContributors"], one["Sum"]) for one in metrics
    ] == [
        (begin, 6, 2, 9),
        (end, 3, 1, 3),
    ]
    assert len(report(database, rule, Period=3600)["Contributors"][0]["Datapoints"]) == 1
    assert len(report(database, rule, MaxContributorCount=1)["Contributors"]) == 1
    assert values(database, rule, StartTime=end) == {"a": 3}
    assert values(database, rule, EndTime=end) == {"a": 6, "b": 3}


def test_order_by_maximum(database: Database) -> None:
    client = database.client()
    client.create_table(**TABLE)
    rule = watch(client)["PKC"]
    for pages in (["a", "b", "b"], ["a"], ["a"]):
        for page in pages:
            client.put_item(TableName="visits", Item={**KEY, "page": {"S": page}})
        database.clock.advance(60)
    assert list(values(database, rule)) == ["a", "b"]
    assert list(values(database, rule, OrderBy="Maximum")) == ["b", "a"]


def test_rules_are_described_and_refused_in_clear_words(database: Database) -> None:
    client, cloudwatch = database.client(), database.client("cloudwatch")
    client.create_table(**TABLE)
    rules = list(watch(client).values())
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
        with pytest.raises(client.exceptions.ResourceNotFoundException, match="Table: visits not found"):
            watch(client)
        for read in (client.describe_contributor_insights, client.list_contributor_insights):
            with pytest.raises(client.exceptions.ResourceNotFoundException, match="Table: visits not found"):
                read(TableName="visits")
        database.clock.advance(6)
        watch(client)
        statuses = []
        for action in (None, "DISABLE"):
            if action is not None:
                client.update_contributor_insights(TableName="visits", ContributorInsightsAction=action)
            for _ in range(2):
                statuses.append(client.describe_contributor_insights(TableName="visits")["ContributorInsightsStatus"])
                database.clock.advance(6)
        assert statuses == ["ENABLING", "ENABLED", "DISABLING", "DISABLED"]


def test_restarts_snapshots_forks_and_resets_know_what_was_counted(tmp_path: Path) -> None:
    folder = str(tmp_path / "data")
    with server(Settings(data_dir=folder)) as database:
        client = database.client()
        client.create_table(**TABLE)
        rule = watch(client)["PKC"]
        client.get_item(TableName="visits", Key=KEY)
    with server(Settings(data_dir=folder)) as database:
        client = database.client()
        client.get_item(TableName="visits", Key=KEY)
        assert values(database, rule) == {"a": 1.0}
        snapshot = database.snapshot()
        client.get_item(TableName="visits", Key=KEY)
        assert values(database, rule) == {"a": 1.5}
        with database.fork() as fork:
            fork.client().get_item(TableName="visits", Key=KEY)
            assert values(fork, rule) == {"a": 2.0}
        assert values(database, rule) == {"a": 1.5}
        database.restore(snapshot)
        assert values(database, rule) == {"a": 1.0}
        client.get_item(TableName="visits", Key=KEY)
        assert values(database, rule) == {"a": 1.5}
        database.reset()
        assert database.client("cloudwatch").describe_insight_rules()["InsightRules"] == []
        client.create_table(**TABLE)
        again = watch(client)["PKC"]
        assert values(database, again) == {}


def test_a_busy_day_is_reported_hour_by_hour(database: Database) -> None:
    client = database.client()
    client.create_table(**TABLE)
    rule = watch(client)["PKC"]
    begin = datetime.fromtimestamp(database.clock.now(), UTC)
    for _ in range(40):
        client.put_item(TableName="visits", Item=KEY)
        database.clock.advance(3600)
    now = datetime.fromtimestamp(database.clock.now(), UTC)
    found = report(database, rule, StartTime=begin - timedelta(hours=1), EndTime=now, Period=3600)
    assert found["AggregateValue"] == 120
    assert len(found["Contributors"][0]["Datapoints"]) == 40
    database.clock.advance(16 * 86_400)
    assert report(database, rule, StartTime=begin)["Contributors"] == []


def test_thousands_of_keys_are_estimated(database: Database) -> None:
    client = database.client()
    client.create_table(**TABLE)
    rule = watch(client)["PKC"]
    for first in range(0, 1_200, 100):
        keys = [{**KEY, "page": {"S": str(number)}} for number in (*range(first, first + 99), "hot")]
        client.batch_get_item(RequestItems={"visits": {"Keys": keys}})
    database.clock.advance(60)
    found = report(database, rule, Metrics=["UniqueContributors"])
    assert found["ApproximateUniqueCount"] == pytest.approx(1_189, rel=0.2)
    assert found["MetricDatapoints"][0]["UniqueContributors"] == found["ApproximateUniqueCount"]
    assert found["AggregateValue"] == 600
    assert found["Contributors"][0]["Keys"] == ["hot"]
    assert 6 <= found["Contributors"][0]["ApproximateAggregateValue"] <= 6 + 600 / 256


def test_a_quarter_of_an_hour_is_saved_without_a_stop(database: Database) -> None:
    client, documents = database.client(), database._process.service.store.documents
    client.create_table(**TABLE)
    rules = watch(client)
    client.put_item(TableName="visits", Item=KEY)
    assert documents.below("insight-counts/") == []
    database.clock.advance(901)
    assert len(documents.below("insight-counts/")) == 2
    assert values(database, rules["PKC"]) == {"a": 3}
    client.update_contributor_insights(TableName="visits", ContributorInsightsAction="DISABLE")
    database.clock.advance(1)
    assert documents.below("insight-counts/") == []


def test_switching_the_mode_keeps_what_was_throttled(database: Database) -> None:
    client = database.client(config=ONCE)
    client.create_table(**TABLE)
    rules = watch(client)
    database.faults.use(Fault("throttle"))
    with pytest.raises(client.exceptions.ThrottlingException):
        client.put_item(TableName="visits", Item=KEY)
    database.faults.use()
    client.put_item(TableName="visits", Item=KEY)
    assert watch(client, ContributorInsightsMode="THROTTLED_KEYS") == {kind: rules[kind] for kind in ("PKT", "SKT")}
    assert watch(client) == rules
    assert values(database, rules["PKT"]) == {"a": 1}
    assert values(database, rules["PKC"]) == {}
