"""What docs/switching.md says will fail after the switch, row by row, and what is the same for all suites."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from hashrange.testing import Database, server
from tests.unit.testing.music import create

KEYS = ["c", "a", "b", "d", "e"]


@pytest.fixture(scope="module")
def opened() -> Iterator[Database]:
    with server() as database:
        yield database


@pytest.fixture
def hashrange(opened: Database) -> Database:
    opened.reset()
    return opened


@pytest.fixture
def client(hashrange: Database) -> Any:
    client = hashrange.client()
    create(client, "music")
    for key in KEYS:
        client.put_item(TableName="music", Item={"pk": {"S": key}, "tags": {"SS": ["x"]}, "list": {"L": []}})
    return client


def test_a_scan_goes_by_hashes(client: Any) -> None:
    found = [item["pk"]["S"] for item in client.scan(TableName="music")["Items"]]
    assert sorted(found) == sorted(KEYS)
    assert found not in (KEYS, sorted(KEYS))


def test_a_page_that_its_limit_ends_has_a_last_key(client: Any) -> None:
    page = client.scan(TableName="music", Limit=len(KEYS))
    assert page["Count"] == len(KEYS)
    rest = client.scan(TableName="music", ExclusiveStartKey=page["LastEvaluatedKey"])
    assert rest["Count"] == 0
    assert "LastEvaluatedKey" not in rest


def test_tables_are_sorted(client: Any) -> None:
    for name in ("zebra", "apple"):
        create(client, name)
    assert client.list_tables()["TableNames"] == ["apple", "music", "zebra"]


def test_a_condition_beside_a_write_of_its_item_belongs_into_the_write(client: Any) -> None:
    condition = {"ConditionExpression": "attribute_exists(pk)"}
    check = {"TableName": "music", "Key": {"pk": {"S": "a"}}} | condition
    put = {"TableName": "music", "Item": {"pk": {"S": "a"}}}
    said = "Transaction request cannot include multiple operations on one item"
    with pytest.raises(ClientError, match=said):
        client.transact_write_items(TransactItems=[{"ConditionCheck": check}, {"Put": put}])
    client.transact_write_items(TransactItems=[{"Put": put | condition}])


@pytest.mark.parametrize(
    ("kind", "value"), [("SS", ["y"]), ("NS", ["1"]), ("L", []), ("M", {}), ("BOOL", True), ("NULL", True)]
)
@pytest.mark.parametrize("condition", ["tags < :t", "tags >= :t", "tags BETWEEN :t AND :t"])
def test_sets_and_documents_have_no_order(client: Any, condition: str, kind: str, value: Any) -> None:
    values = {":t": {kind: value}}
    with pytest.raises(ClientError, match=rf"operator or function: (<|>=|BETWEEN), operand type: {kind}"):
        client.scan(TableName="music", FilterExpression=condition, ExpressionAttributeValues=values)


@pytest.mark.parametrize("name", ["a b", "by#name"])
def test_names_of_indexes_have_few_characters(client: Any, name: str) -> None:
    index = {
        "IndexName": name,
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    with pytest.raises(ClientError, match="Member must satisfy regular expression pattern"):
        create(client, "films", GlobalSecondaryIndexes=[index])


def test_keys_of_twelve_digits_and_regions_have_their_own_tables(hashrange: Database) -> None:
    def tables(key: str, region: str = "us-east-1") -> list[str]:
        found: list[str] = hashrange.client(aws_access_key_id=key, region_name=region).list_tables()["TableNames"]
        return found

    create(hashrange.client(aws_access_key_id="anything"), "music")
    assert tables("anything") == tables("AKIAIOSFODNN7EXAMPLE") == ["music"]
    assert tables("anything", "mars-north-1") == tables("111122223333") == []
