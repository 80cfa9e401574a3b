"""Advice on schemas: each rule speaks when its evidence is there, and is silent otherwise."""

from typing import Any

import pytest

from hashrange.cli.mcp_tools.advice import advise, looked_back, time_in_words
from hashrange.cli.mcp_tools.asking import AskedServer
from hashrange.cli.mcp_tools.evidence import DAY_SECONDS, Evidence, HotKey, IndexUse, ItemSample, Use, gather_evidence
from hashrange.cli.remote import Remote
from hashrange.settings import Settings
from hashrange.testing import server

INDEX = {
    "IndexName": "by-name",
    "KeySchema": [{"AttributeName": "name", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "ALL"},
    "ItemCount": 10,
    "IndexSizeBytes": 1_000,
}
TABLE: dict[str, Any] = {
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
    "GlobalSecondaryIndexes": [INDEX],
}
SOUND = Evidence(
    TABLE,
    False,
    Use(5.0, 5.0, 0.0, 0.0, 10.0),
    {"by-name": IndexUse(5.0, 14)},
    ItemSample(100, 90, 3, 500, {"by-name": 0}, []),
    seen_seconds=14 * DAY_SECONDS,
)
UNUSED = {"by-name": IndexUse(0.0, 7)}
FULL = {"table": TABLE | {"ProvisionedThroughput": {"ReadCapacityUnits": 100, "WriteCapacityUnits": 1}}}


def test_a_sound_table() -> None:
    assert advise(SOUND) == []


def test_a_table_of_which_nothing_is_known() -> None:
    nothing = Use(None, None, None, None, None)
    assert (
        advise(
            SOUND._replace(
                use=nothing,
                index_uses={"by-name": IndexUse(None, 0)},
                seen_seconds=None,
                sample=ItemSample(0, 0, 0, 0, {}, []),
            )
        )
        == []
    )


@pytest.mark.parametrize(
    ("changes", "subject", "number"),
    [
        ({"use": SOUND.use._replace(throttled=7.0)}, "throttling", "7 "),
        ({"hot_keys": [HotKey("u1", 400.0, 1_000.0, "units")]}, "hot key", "400 of 1,000 units of 1 day"),
        (
            {"table": TABLE | {"ProvisionedThroughput": {"ReadCapacityUnits": 100, "WriteCapacityUnits": 1}}},
            "capacity",
            "100",
        ),
        (
            {"table": TABLE | {"ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 9}}},
            "capacity",
            "write",
        ),
        ({"sample": SOUND.sample._replace(most_items_of_a_key=51)}, "partition key", "51 of 100"),
        ({"use": SOUND.use._replace(scans=100.0)}, "scans", "100 Scans and 10 Queries"),
        ({"index_uses": UNUSED}, "index by-name", "on the 7 of the last 14 days that have metrics of the index"),
        (
            {"table": TABLE | {"GlobalSecondaryIndexes": [INDEX | {"IndexSizeBytes": 20_000}]}},
            "index by-name",
            "2,000 bytes",
        ),
        ({"sample": SOUND.sample._replace(missing_in_indexes={"by-name": 100})}, "index by-name", "None of 100"),
        ({"sample": SOUND.sample._replace(longest_bytes=200_000)}, "large items", "200,000"),
        ({"sample": SOUND.sample._replace(times=["created", "expires_at"])}, "time to live", "expires_at"),
    ],
)
def test_each_rule(changes: dict[str, Any], subject: str, number: str) -> None:
    (advice,) = advise(SOUND._replace(**changes))
    assert advice.subject == subject
    assert number in advice.evidence


@pytest.mark.parametrize(
    "changes",
    [
        {"sample": SOUND.sample._replace(items=10, most_items_of_a_key=10, missing_in_indexes={"by-name": 10})},
        {"sample": SOUND.sample._replace(times=["created"])},
        {"sample": SOUND.sample._replace(times=["ttl"]), "expires": True},
        {"use": SOUND.use._replace(scans=99.0)},
        {"index_uses": {"by-name": IndexUse(0.0, 6)}},
        {"index_uses": {"by-name": IndexUse(0.0, 0)}},
        FULL | {"seen_seconds": 0.9 * DAY_SECONDS},
        {"use": SOUND.use._replace(scans=200.0, queries=300.0)},
    ],
)
def test_what_is_too_little(changes: dict[str, Any]) -> None:
    assert advise(SOUND._replace(**changes)) == []


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (5, "less than a minute"),
        (60, "1 minute"),
        (150, "2 minutes"),
        (3_600, "1 hour"),
        (86_399, "23 hours"),
        (86_400, "1 day"),
        (14 * 86_400, "14 days"),
    ],
)
def test_times_in_words(seconds: float, words: str) -> None:
    assert time_in_words(seconds) == words


@pytest.mark.parametrize("seen_seconds", [0.0, 30.0, 3_600.0, 3 * 86_400.0])
def test_no_evidence_is_of_more_time_than_there_are_metrics(seen_seconds: float) -> None:
    use = Use(50.0, 50.0, 7.0, 200.0, 10.0)
    hot = [HotKey("u1", 400.0, 1_000.0, "units")]
    advice = advise(SOUND._replace(table=FULL["table"], use=use, seen_seconds=seen_seconds, hot_keys=hot))
    periods = {word for one in advice for word in ("14 days", time_in_words(seen_seconds)) if word in one.evidence}
    assert periods == {time_in_words(seen_seconds)}
    assert "14 days" not in " ".join(one.evidence for one in advice)


def test_what_is_not_judged_yet_is_told() -> None:
    assert looked_back(SOUND) == "Metrics of this table cover 14 days."
    young = SOUND._replace(seen_seconds=240.0, index_uses={"by-name": IndexUse(0.0, 1)})
    assert looked_back(young) == (
        "Metrics of this table cover 4 minutes. Provisioned capacity is judged from a day of metrics on, and an index"
        " is called unused once there are metrics of it on 7 days."
    )
    assert "no metrics" in looked_back(SOUND._replace(seen_seconds=None))


def make_users(client: Any) -> None:
    client.create_table(
        TableName="Users",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": one, "AttributeType": "S"} for one in ("id", "name")],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by-name",
                "KeySchema": [{"AttributeName": "name", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
    )


def put_users(client: Any) -> None:
    for number in range(30):
        client.put_item(TableName="Users", Item={"id": {"S": str(number)}, "name": {"S": f"n{number}"}})


def test_a_server_of_seconds_recommends_no_deletion_and_one_of_days_does() -> None:
    with server(Settings(data_dir=None, port=0, admin=True)) as database:
        client = database.client()
        make_users(client)
        put_users(client)
        remote = Remote(database.endpoint, "us-east-1", {})
        asking = AskedServer(remote)
        try:
            young = gather_evidence(asking, "Users")
            assert young.seen_seconds is not None
            assert 0 < young.seen_seconds < DAY_SECONDS
            assert young.index_uses == {"by-name": IndexUse(0.0, 1)}
            assert advise(young) == []
            for _ in range(7):
                database.clock.advance(DAY_SECONDS)
                put_users(client)
            old = gather_evidence(asking, "Users")
        finally:
            remote.close()
        assert old.seen_seconds is not None
        assert 7 * DAY_SECONDS <= old.seen_seconds < 8 * DAY_SECONDS
        assert old.index_uses == {"by-name": IndexUse(0.0, 8)}
        (advice,) = advise(old)
        assert advice.advice.startswith("Delete it, if nobody needs it")
        assert "on the 8 of the last 14 days that have metrics of the index" in advice.evidence


def test_a_table_that_seems_younger_than_nothing_has_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply's time is in whole seconds, so it may lie before the time at which the table was made."""
    with server(Settings(data_dir=None, port=0)) as database:
        make_users(database.client())
        put_users(database.client())
        created = database.client().describe_table(TableName="Users")["Table"]["CreationDateTime"].timestamp()
        monkeypatch.setattr(AskedServer, "service_seconds", lambda _: created - 0.5)
        remote = Remote(database.endpoint, "us-east-1", {})
        asking = AskedServer(remote)
        try:
            known = gather_evidence(asking, "Users")
        finally:
            remote.close()
    assert known.seen_seconds == 0.0
    assert looked_back(known).startswith("Metrics of this table cover less than a minute.")
