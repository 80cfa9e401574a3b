"""Operation records match their requests: the tables that requests name, and whether they can change data."""

import asyncio
import json
import re
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from hashrange.clock import SystemClock
from hashrange.operations.backups.kept_backups import BACKUP_PREFIX, Backup
from hashrange.operations.naming import bare_name
from hashrange.operations.registry import ALL_OPERATIONS, OPERATIONS
from hashrange.settings import Settings
from hashrange.store.embedded import open_store
from hashrange.store.interface import WholeStore
from tests.support.bodies import ARN, BACKUP_ARN, BODIES, ITEM, KEY, NEW_TABLE, TABLE
from tests.support.explaining import explain
from tests.unit.server.harness import FrontEnd, reply

PLAIN_TABLE = {
    "TableName": TABLE,
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "N"},
    ],
    "KeySchema": NEW_TABLE["KeySchema"],
    "BillingMode": "PAY_PER_REQUEST",
    "Tags": [{"Key": "a", "Value": "b"}],
}
ALSO_SOUND: dict[str, dict[str, Any]] = {
    "DeleteItem": {"TableName": TABLE, "Key": KEY},
    "ListBulkOperations": {},
    "ListExports": {"TableArn": ARN},
    "ListImports": {"TableArn": ARN},
    "ListTagsOfResource": {"ResourceArn": ARN},
    "PutItem": {"TableName": TABLE, "Item": KEY},
    "TransactGetItems": {"TransactItems": [{"Get": {"TableName": TABLE, "Key": KEY}}]},
    "UpdateContributorInsights": {"TableName": TABLE, "ContributorInsightsAction": "DISABLE"},
    "DeleteResourcePolicy": {"ResourceArn": ARN},
    "DeleteTable": {"TableName": TABLE},
    "RestoreTableFromBackup": {"TargetTableName": "fuzzed-too", "BackupArn": BACKUP_ARN},
    "ExecuteStatement": {"Statement": f"INSERT INTO {TABLE} VALUE {{'pk': 'new', 'sk': 1}}"},
    "ExecuteTransaction": {
        "TransactStatements": [{"Statement": f"INSERT INTO {TABLE} VALUE {{'pk': 'new', 'sk': 1}}"}]
    },
    "TransactWriteItems": {"TransactItems": [{"Delete": {"TableName": TABLE, "Key": KEY}}]},
    "BatchExecuteStatement": {
        "Statements": [{"Statement": f"SELECT * FROM {TABLE} WHERE pk = 'a' AND sk = 1"}, {"Statement": "none"}]
    },
}
"""Further valid bodies, for operations whose other bodies are refused here or change nothing."""
NEED_MORE = {
    "CancelBulkOperation", "DescribeBulkOperation", "DescribeExport", "DescribeImport", "DescribeStream",
    "ExportTableToPointInTime", "GetRecords", "GetResourcePolicy", "GetShardIterator", "ImportTable",
    "SearchVectors", "StartBulkPutItems",
}  # fmt: skip
"""Operations that are refused here because they ask for something that does not exist, such as an S3 or an index."""
CHANGE_NOTHING_YET = {
    "CancelBulkOperation", "ExportTableToPointInTime", "ImportTable", "StartBulkPutItems",
}  # fmt: skip
"""Operations that write but change nothing here: they need an S3."""


def bodies_of(name: str) -> list[dict[str, Any]]:
    return BODIES[name] + [body for also, body in ALSO_SOUND.items() if also == name]


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_a_record_knows_the_tables_of_its_requests(name: str) -> None:
    record = OPERATIONS[name]
    for body in bodies_of(name):
        text = json.dumps(body)
        request: Any = explain(record.request, name, text.encode())
        named = set(re.findall(r"\bfuzzed(?:-too)?\b(?!-)", text))
        assert {bare_name(table) for table in record.tables(request)} == named, body


def test_a_record_names_tables_in_the_order_of_the_request() -> None:
    puts = [{"Put": {"TableName": table, "Item": ITEM}} for table in ("bbb", ARN, "aaa")]
    body = json.dumps({"TransactItems": puts}).encode()
    record = OPERATIONS["TransactWriteItems"]
    assert list(record.tables(explain(record.request, record.name, body))) == ["bbb", ARN, "aaa"]


def test_a_statement_that_cannot_be_read_names_no_table() -> None:
    statements = [{"Statement": text} for text in ("none", f"SELECT * FROM \"{TABLE}\" WHERE pk = 'a'", "SELECT")]
    record = OPERATIONS["BatchExecuteStatement"]
    request: Any = explain(record.request, record.name, json.dumps({"Statements": statements}).encode())
    assert list(record.tables(request)) == [TABLE]


def find_data_stream(store: WholeStore) -> None:
    """What a job does once Kinesis has said that it has the data stream of the table's destination."""
    (table,) = [one.schema for one in store.catalog.all_tables()]
    found = [replace(one, state="ACTIVE") for one in table.kinesis_destinations]
    assert asyncio.run(store.catalog.replace(table, replace(table, kinesis_destinations=tuple(found))))


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_only_what_writes_changes_anything(name: str) -> None:
    store = open_store(None, SystemClock(), None)
    settings = Settings(kinesis_endpoint="http://127.0.0.1:9/")
    front = FrontEnd(operations=ALL_OPERATIONS, real_store=store, settings=settings)

    made_arn = BACKUP_ARN

    def ask(operation: str, body: dict[str, Any]) -> int:
        body = json.loads(json.dumps(body).replace(BACKUP_ARN, made_arn))
        target = {"X-Amz-Target": f"{OPERATIONS[operation].wire.service}.{operation}"}
        return reply(front.ask(front.request(json.dumps(body).encode(), headers=target))).status

    assert ask("CreateTable", PLAIN_TABLE) == ask("PutItem", {"TableName": TABLE, "Item": ITEM}) == 200
    if name == "DeleteResourcePolicy":
        assert ask("PutResourcePolicy", BODIES["PutResourcePolicy"][0]) == 200
    if name in {"DisableKinesisStreamingDestination", "UpdateKinesisStreamingDestination"}:
        assert ask("EnableKinesisStreamingDestination", BODIES["EnableKinesisStreamingDestination"][0]) == 200
        find_data_stream(store)
    if "Backup" in name or name == "RestoreTableToPointInTime":
        assert ask("UpdateContinuousBackups", BODIES["UpdateContinuousBackups"][1]) == 200
        assert ask("CreateBackup", BODIES["CreateBackup"][0]) == 200
        ((_, document),) = store.documents.below(BACKUP_PREFIX)
        made_arn = msgspec.json.decode(document, type=Backup).arn
    position = store.position()
    statuses = [ask(name, body) for body in bodies_of(name)]
    has_changed = store.position() > position
    store.close_now()
    assert 200 in statuses or name in NEED_MORE
    assert OPERATIONS[name].writes == (has_changed or name in CHANGE_NOTHING_YET)
