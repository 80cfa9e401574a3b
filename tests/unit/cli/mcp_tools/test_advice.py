"""Advice on schemas: each rule speaks when its evidence is there, and is silent otherwise."""

from typing import Any

import pytest

from hashrange.cli.mcp_tools.advice import advise
from hashrange.cli.mcp_tools.evidence import Evidence, ItemSample, Use
from hashrange.cli.mcp_tools.hot_keys import HotKey

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
    TABLE, False, Use(5.0, 5.0, 0.0, 0.0, 10.0), {"by-name": 5.0}, ItemSample(100, 90, 3, 500, {"by-name": 0}, [])
)


def test_a_sound_table() -> None:
    assert advise(SOUND) == []


def test_a_table_of_which_nothing_is_known() -> None:
    nothing = Use(None, None, None, None, None)
    assert (
        advise(SOUND._replace(use=nothing, index_reads={"by-name": None}, sample=ItemSample(0, 0, 0, 0, {}, []))) == []
    )


@pytest.mark.parametrize(
    ("changes", "subject", "number"),
    [
        ({"use": SOUND.use._replace(throttled=7.0)}, "throttling", "7 "),
        ({"hot_keys": [HotKey("u1", 400.0, 1_000.0, "units")]}, "hot key", "400 of 1,000 units of a day"),
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
        ({"index_reads": {"by-name": 0.0}}, "index by-name", "5 write units"),
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
        {"use": SOUND.use._replace(scans=200.0, queries=300.0)},
    ],
)
def test_what_is_too_little(changes: dict[str, Any]) -> None:
    assert advise(SOUND._replace(**changes)) == []
