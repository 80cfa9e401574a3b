"""A database begins with the tables and items of its init folder, once;
what a file cannot do is told, and nothing is applied then.
"""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from botocore.config import Config

from hashrange.settings import SettingUnusable
from tests.conformance.vectors import search_schema, vector, vector_index
from tests.unit.init.folders import USERS, begun, make_folder, users_in

ADA = '{"id": "ada"}\n'
SORTED: dict[str, Any] = {
    "TableName": "2024-Orders",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "N"},
        {"AttributeName": "sk", "AttributeType": "B"},
        {"AttributeName": "state", "AttributeType": "S"},
    ],
    "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6},
    "LocalSecondaryIndexes": [
        {
            "IndexName": "by-pk-and-state",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "state", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-state",
            "KeySchema": [{"AttributeName": "state", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a", "b"]},
            "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 2},
        }
    ],
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
}
WRITE = {"PutRequest": {"Item": {"id": {"S": "bob"}}}}


def test_all_kinds_of_files(tmp_path: Path) -> None:
    folder = make_folder(
        tmp_path / "init",
        {
            "10-tables.json": [USERS, SORTED],
            "15-ttl.json": {
                "TableName": "Users",
                "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "until"},
            },
            "20-batch.json": {"Users": [WRITE]},
            "21-batch.json": {"RequestItems": {"Users": [{"PutRequest": {"Item": {"id": {"S": "cy"}}}}]}},
            "22-put.json": b"\xef\xbb\xbf" + json.dumps({"TableName": "Users", "Item": {"id": {"S": "dan"}}}).encode(),
            "30-Users.jsonl": '\ufeff{"id": "eve", "n": 1}\r\n\r\n{"id": {"S": "fay"}}\n{"Item": {"id": {"S": "gil"}}}',
            "30-Users.json": {"Items": [{"id": {"S": "ivy"}}], "Count": 1, "ScannedCount": 1, "ConsumedCapacity": None},
            "31-Users.ndjson": '{"id": "eve", "n": 2}\n{"id": "eve", "n": 3}\n',
            "32-Users.json.gz": gzip.compress(b'{"Item": {"id": {"S": "hal"}}}\n'),
            "2024-Orders.jsonl": '{"pk": {"N": "7"}, "sk": {"B": "AA=="}, "state": {"S": "open"}}\n',
            ".hidden": "not looked at",
        },
    )
    with begun(folder) as database:
        client = database.client()
        users = users_in(client)
        assert sorted(users) == ["bob", "cy", "dan", "eve", "fay", "gil", "hal", "ivy"]
        assert users["eve"]["n"] == {"N": "3"}
        entries = client.query(
            TableName="2024-Orders",
            IndexName="by-state",
            KeyConditionExpression="#s = :s",
            ExpressionAttributeNames={"#s": "state"},
            ExpressionAttributeValues={":s": {"S": "open"}},
        )
        assert entries["Count"] == 1
        ttl = client.describe_time_to_live(TableName="Users")["TimeToLiveDescription"]
        assert (ttl["TimeToLiveStatus"], ttl["AttributeName"]) == ("ENABLED", "until")


def test_files_are_applied_in_order_of_their_names(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "init", {"b.json": USERS, "1-Users.jsonl": ADA})
    with pytest.raises(
        SettingUnusable, match=r"1-Users\.jsonl cannot be applied: there is no table 1-Users in us-east-1"
    ):
        begun(folder).__enter__()
    (folder / "1-Users.jsonl").rename(folder / "Users.jsonl")
    with pytest.raises(SettingUnusable, match="there is no table Users in us-east-1"):
        begun(folder).__enter__()
    (folder / "b.json").rename(folder / "1.json")
    with begun(folder) as database:
        assert list(users_in(database.client())) == ["ada"]


def test_regions_and_accounts_are_folders(tmp_path: Path) -> None:
    folder = make_folder(
        tmp_path / "init",
        {
            "111122223333/a.json": USERS,
            "111122223333/eu-west-1/a.json": {**USERS, "TableName": "Theirs"},
            "eu-west-1/a.json": {**USERS, "TableName": "European"},
            "z.json": {**USERS, "TableName": "Own"},
        },
    )

    def tables(database: Any, key: str, region: str) -> list[str]:
        names: list[str] = database.client(aws_access_key_id=key, region_name=region).list_tables()["TableNames"]
        return names

    with begun(folder) as database:
        assert tables(database, "test", "us-east-1") == ["Own"]
        assert tables(database, "test", "eu-west-1") == ["European"]
        assert tables(database, "111122223333", "us-east-1") == ["Users"]
        assert tables(database, "111122223333", "eu-west-1") == ["Theirs"]
    with begun(folder, shared_db=True) as database:
        assert tables(database, "any", "mars-north-1") == ["European", "Own", "Theirs", "Users"]


@pytest.mark.parametrize("form", ["reply", "description", "creation"])
def test_a_described_table_is_made_again(tmp_path: Path, form: str) -> None:
    members = {**SORTED, "DeletionProtectionEnabled": True, "TableClass": "STANDARD_INFREQUENT_ACCESS"}
    with begun(make_folder(tmp_path / "first", {"A.json": members, "b.json": USERS})) as database:
        client = database.client()
        described = [client.describe_table(TableName=name)["Table"] for name in ("2024-Orders", "Users")]
    wrapped = [
        {"reply": {"Table": one}, "description": one, "creation": {"TableDescription": one}}[form] for one in described
    ]
    folder = make_folder(tmp_path / "second", {"A.json": json.dumps(wrapped, default=str)})
    with begun(folder) as database:
        client = database.client()
        for before in described:
            after = client.describe_table(TableName=before["TableName"])["Table"]
            assert definition_of(after) == definition_of(before)


def test_a_described_table_with_a_vector_index_is_made_again(tmp_path: Path) -> None:
    index = vector_index(SearchSchema=search_schema("tenant"))
    members = {
        "TableName": "Notes",
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("id", "tenant")],
        "BillingMode": "PAY_PER_REQUEST",
        "VectorIndexes": [index],
    }
    with begun(make_folder(tmp_path / "first", {"a.json": members})) as database:
        before = database.client().describe_table(TableName="Notes")["Table"]
    note = {"id": "a", "tenant": "t", "embedding": [1, 0.5, 0]}
    described = json.dumps({"Table": before}, default=str)
    with begun(make_folder(tmp_path / "second", {"A.json": described, "Notes.jsonl": json.dumps(note)})) as database:
        client = database.client()
        after = client.describe_table(TableName="Notes")["Table"]
        found = client.search_vectors(
            TableName="Notes",
            IndexName="plain",
            SearchVector=vector(1, 0.5, 0)["L"],
            TopK=1,
            SearchConditionExpression="tenant = :t",
            ExpressionAttributeValues={":t": {"S": "t"}},
        )
    assert definition_of(after) == definition_of(before)
    assert {name: after["VectorIndexes"][0][name] for name in index} == index
    assert [one["Item"]["id"]["S"] for one in found["SearchResults"]] == ["a"]


def definition_of(table: dict[str, Any]) -> dict[str, Any]:
    """What is defined by a request, of a table's description."""
    members = ("AttributeDefinitions", "KeySchema", "StreamSpecification", "DeletionProtectionEnabled")
    indexes = [*table.get("LocalSecondaryIndexes", []), *table.get("GlobalSecondaryIndexes", [])]
    return {
        **{member: table.get(member) for member in members},
        "class": table.get("TableClassSummary", {}).get("TableClass"),
        "mode": table.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED"),
        "units": table["ProvisionedThroughput"]["WriteCapacityUnits"],
        "indexes": [
            (
                index["IndexName"],
                index["KeySchema"],
                index["Projection"],
                index.get("ProvisionedThroughput", {}).get("ReadCapacityUnits"),
            )
            for index in indexes
        ],
    }


def test_states_faults_and_throttling_do_not_hinder_it(tmp_path: Path) -> None:
    faults = tmp_path / "faults.toml"
    faults.write_text('[[fault]]\nkind = "throttle"\n', encoding="utf-8")
    table = {
        **USERS,
        "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
    }
    lines = "".join(f'{{"id": "{number}"}}\n' for number in range(1000))
    folder = make_folder(tmp_path / "init", {"A.json": table, "Users.jsonl": lines})
    with begun(folder, table_state_delay_seconds=60.0, throughput="enforced", faults=str(faults)) as database:
        client = database.client()
        described = client.describe_table(TableName="Users")["Table"]
        assert (described["TableStatus"], described["ItemCount"]) == ("ACTIVE", 1000)
        client = database.client(config=Config(retries={"total_max_attempts": 1}))
        with pytest.raises(client.exceptions.ProvisionedThroughputExceededException):
            client.put_item(TableName="Users", Item={"id": {"S": "a"}})


# --- once to a data folder ----------------------------------------------------------------------


def test_a_kept_folder_keeps_what_the_application_wrote(tmp_path: Path) -> None:
    data, folder = (
        tmp_path / "data",
        make_folder(tmp_path / "init", {"A.json": USERS, "Users.jsonl": ADA + '{"id": "bob"}'}),
    )
    with begun(folder, data) as database:
        client = database.client()
        client.put_item(TableName="Users", Item={"id": {"S": "ada"}, "changed": {"BOOL": True}})
        client.delete_item(TableName="Users", Key={"id": {"S": "bob"}})
        client.create_table(**{**USERS, "TableName": "Others"})
    with begun(folder, data) as database:
        assert users_in(database.client()) == {"ada": {"id": {"S": "ada"}, "changed": {"BOOL": True}}}
        assert database.client().list_tables()["TableNames"] == ["Others", "Users"]


def test_a_changed_or_new_file_is_applied(tmp_path: Path) -> None:
    data, folder = tmp_path / "data", make_folder(tmp_path / "init", {"A.json": USERS, "Users.jsonl": ADA})
    with begun(folder, data) as database:
        database.client().put_item(TableName="Users", Item={"id": {"S": "own"}})
        database.client().put_item(TableName="Users", Item={"id": {"S": "ada"}, "n": {"N": "1"}})
    make_folder(folder, {"Users.jsonl": ADA + '{"id": "bob"}\n', "b.json": {**USERS, "TableName": "More"}})
    with begun(folder, data) as database:
        assert users_in(database.client()) == {name: {"id": {"S": name}} for name in ("ada", "bob", "own")}
        assert database.client().list_tables()["TableNames"] == ["More", "Users"]


def test_a_table_that_is_there_is_left_or_refused(tmp_path: Path) -> None:
    data = tmp_path / "data"
    ttl = {"TableName": "Users", "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "until"}}
    with begun(make_folder(tmp_path / "first", {"A.json": [USERS, SORTED, ttl]}), data) as database:
        database.client().put_item(TableName="Users", Item={"id": {"S": "own"}})
    swapped = {**SORTED, "AttributeDefinitions": SORTED["AttributeDefinitions"][::-1]}
    with begun(make_folder(tmp_path / "second", {"b.json": [USERS, swapped, ttl]}), data) as database:
        assert list(users_in(database.client())) == ["own"]
    index = {**SORTED["GlobalSecondaryIndexes"][0], "Projection": {"ProjectionType": "ALL"}}
    other = {**SORTED, "GlobalSecondaryIndexes": [index], "StreamSpecification": {"StreamEnabled": False}}
    folder = make_folder(tmp_path / "third", {"A.json": {**USERS, "TableName": "Fresh"}, "c.json": [other]})
    with pytest.raises(SettingUnusable) as caught:
        begun(folder, data).__enter__()
    assert (
        "c.json cannot be applied: request 1: the table 2024-Orders exists already, with another"
        " GlobalSecondaryIndexes, StreamSpecification. Change or delete the table, or let the file describe it as it"
        " is. Nothing of the folder was"
    ) in str(caught.value)
    (folder / "c.json").unlink()
    (folder / "A.json").unlink()
    with begun(folder, data) as database:
        assert database.client().list_tables()["TableNames"] == ["2024-Orders", "Users"]


def test_a_faulty_file_changes_nothing_and_can_be_mended(tmp_path: Path) -> None:
    data, folder = tmp_path / "data", make_folder(tmp_path / "init", {"A.json": USERS, "Users.jsonl": ADA + "{}"})
    with pytest.raises(SettingUnusable, match="line 2"):
        begun(folder, data).__enter__()
    assert list((data / "copies").iterdir()) == []
    make_folder(folder, {"A.json": {**USERS, "TableName": "Others"}, "Users.jsonl": ""})
    (folder / "Users.jsonl").unlink()
    with begun(folder, data) as database:
        assert database.client().list_tables()["TableNames"] == ["Others"]


# --- resets and forks ---------------------------------------------------------------------------


@pytest.mark.parametrize("is_kept", [False, True])
def test_a_reset_returns_to_the_initial_content(tmp_path: Path, is_kept: bool) -> None:
    folder = make_folder(tmp_path / "init", {"A.json": USERS, "Users.jsonl": ADA})
    with begun(folder, tmp_path / "data" if is_kept else None) as database:
        client = database.client()
        client.delete_item(TableName="Users", Key={"id": {"S": "ada"}})
        client.create_table(**{**USERS, "TableName": "Others"})
        with database.fork() as fork:
            assert users_in(fork.client()) == {}
            fork.reset()
            assert list(users_in(fork.client())) == ["ada"]
        assert users_in(client) == {}
        database.reset()
        assert list(users_in(client)) == ["ada"]
        assert client.list_tables()["TableNames"] == ["Users"]
        make_folder(folder, {"Users.jsonl": "{"})
        client.put_item(TableName="Users", Item={"id": {"S": "own"}})
        with pytest.raises(SettingUnusable, match=r"Users\.jsonl cannot be applied: line 1: it is no JSON"):
            database.reset()
        assert list(users_in(client)) == ["own", "ada"]
        for path in folder.iterdir():
            path.unlink()
        database.reset()
        assert client.list_tables()["TableNames"] == []


@pytest.mark.parametrize("name", ["Items", "Item", "KeySchema", "RequestItems", "TableStatus"])
def test_writes_to_a_table_that_is_called_like_a_member(tmp_path: Path, name: str) -> None:
    """`--request-items` takes an object whose members are the names of tables."""
    writes = {
        name: [{"PutRequest": {"Item": {"id": {"S": "ada"}}}}],
        "Users": [{"DeleteRequest": {"Key": {"id": {"S": "ben"}}}}],
    }
    tables = [USERS, USERS | {"TableName": name}]
    with begun(make_folder(tmp_path / "init", {"A.json": tables, "B.json": writes, "C.json": [writes]})) as database:
        assert database.client().scan(TableName=name)["Items"] == [{"id": {"S": "ada"}}]
