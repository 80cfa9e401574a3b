"""Imports: what the operations answer, which table there is afterwards, and what goes wrong."""

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest
from backports import zstd
from botocore.exceptions import ClientError

from hashrange.operations.transfers import transfer_requests
from hashrange.s3.objects import S3Failure
from hashrange.testing.database import Database
from hashrange.transfers import import_work, reading
from tests.conformance.vectors import vector_index
from tests.support.memory_objects import MISSING_BUCKET, MemoryObjects
from tests.support.waiting import wait_until
from tests.unit.transfers.transferred import ARN, BUCKET, TABLE, create, exported, switch_on

UNITS_MISSING = (
    "One or more parameter values were invalid: ReadCapacityUnits and WriteCapacityUnits must both be specified when"
    " BillingMode is PROVISIONED"
)
pytestmark = pytest.mark.usefixtures("objects")
BY_N = {
    "IndexName": "by-n",
    "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "ALL"},
}


def creation(name: str = TABLE, **members: Any) -> dict[str, Any]:
    return {
        "TableName": name,
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    } | members


def request(table: dict[str, Any] | None = None, **members: Any) -> dict[str, Any]:
    return {
        "S3BucketSource": {"S3Bucket": BUCKET},
        "InputFormat": "DYNAMODB_JSON",
        "TableCreationParameters": table or creation(),
    } | members


def begun(client: Any, table: dict[str, Any] | None = None, **members: Any) -> str:
    described = client.import_table(**request(table, **members))["ImportTableDescription"]
    assert described["ImportStatus"] == "IN_PROGRESS"
    arn: str = described["ImportArn"]
    return arn


def described(client: Any, arn: str) -> dict[str, Any]:
    found: dict[str, Any] = client.describe_import(ImportArn=arn)["ImportTableDescription"]
    return found


def ended(client: Any, arn: str) -> dict[str, Any]:
    wait_until(lambda: described(client, arn)["ImportStatus"] != "IN_PROGRESS")
    return described(client, arn)


def imported(client: Any, table: dict[str, Any] | None = None, **members: Any) -> dict[str, Any]:
    return ended(client, begun(client, table, **members))


def refusal(client: Any, table: dict[str, Any] | None = None, **members: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as refused:
        client.import_table(**request(table, **members))
    error = refused.value.response["Error"]
    return error["Code"], error["Message"]


def counts(told: dict[str, Any]) -> tuple[int, int, int]:
    return told["ProcessedItemCount"], told["ImportedItemCount"], told["ErrorCount"]


def json_lines(*numbers: int) -> bytes:
    items = ({"id": {"S": f"i{number}"}, "n": {"N": str(number)}} for number in numbers)
    return b"".join(json.dumps({"Item": item}).encode() + b"\n" for item in items)


def ids(client: Any, name: str = TABLE) -> list[str]:
    return sorted(item["id"]["S"] for item in client.scan(TableName=name)["Items"])


# --- formats --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["NONE", "GZIP", "ZSTD"])
def test_objects_become_a_table(client: Any, objects: MemoryObjects, kind: str) -> None:
    packs: dict[str, Callable[[bytes], bytes]] = {"NONE": bytes, "GZIP": gzip.compress, "ZSTD": zstd.compress}
    pack = packs[kind]
    objects.chunk_bytes = 1000
    objects[BUCKET].update(
        {"in/a": pack(json_lines(*range(150))), "in/b": pack(json_lines(*range(150, 300))), "x": b"{"}
    )
    told = imported(
        client, InputCompressionType=kind, S3BucketSource={"S3Bucket": BUCKET, "S3KeyPrefix": "in/"}, ClientToken="t"
    )
    assert (told["ImportStatus"], counts(told)) == ("COMPLETED", (300, 300, 0))
    assert told["ProcessedSizeBytes"] == len(json_lines(*range(300)))
    assert ids(client) == sorted(f"i{number}" for number in range(300))
    table = client.describe_table(TableName=TABLE)["Table"]
    assert (table["TableStatus"], table["ItemCount"], table["TableId"]) == ("ACTIVE", 300, told["TableId"])
    assert told["TableArn"] == table["TableArn"]
    assert told["CloudWatchLogGroupArn"] == "arn:aws:logs:us-east-1:000000000000:log-group:/aws-dynamodb/imports:*"
    assert told["TableCreationParameters"] == creation()
    assert "InputFormatOptions" not in told


def test_csv_has_types_for_keys_alone(client: Any, objects: MemoryObjects) -> None:
    objects[BUCKET]["a.csv"] = b"id,n,other\ni1,1,2\ni2,3,\n"
    table = creation(
        AttributeDefinitions=[
            {"AttributeName": "id", "AttributeType": "S"},
            {"AttributeName": "n", "AttributeType": "N"},
        ],
        GlobalSecondaryIndexes=[BY_N],
    )
    imported(client, table, InputFormat="CSV")
    assert sorted(client.scan(TableName=TABLE)["Items"], key=str) == [
        {"id": {"S": "i1"}, "n": {"N": "1"}, "other": {"S": "2"}},
        {"id": {"S": "i2"}, "n": {"N": "3"}},
    ]
    entries = client.scan(TableName=TABLE, IndexName="by-n")["Items"]
    assert sorted(entry["id"]["S"] for entry in entries) == ["i1", "i2"]
    assert client.describe_table(TableName=TABLE)["Table"]["GlobalSecondaryIndexes"][0]["ItemCount"] == 2


def test_options_of_csv_are_told(client: Any, objects: MemoryObjects) -> None:
    objects[BUCKET]["a.csv"] = b"i1;1\ni2;2\n"
    options = {"Csv": {"Delimiter": ";", "HeaderList": ["id", "x"]}}
    told = imported(client, InputFormat="CSV", InputFormatOptions=options)
    assert told["InputFormatOptions"] == options
    assert client.get_item(TableName=TABLE, Key={"id": {"S": "i2"}})["Item"]["x"] == {"S": "2"}


@pytest.mark.parametrize("kind", ["DYNAMODB_JSON", "ION"])
def test_what_was_exported_is_imported(database: Database, client: Any, objects: MemoryObjects, kind: str) -> None:
    create(client)
    switch_on(database)
    item = {
        "id": {"S": "i'1\n"},
        "b": {"B": b"\x00"},
        "s": {"NS": ["1", "2.5"]},
        "m": {"M": {"l": {"L": [{"NULL": True}]}}},
    }
    client.put_item(TableName=TABLE, Item=item)
    told = exported(client, ExportFormat=kind)
    folder = told["ExportManifest"].removesuffix("manifest-summary.json")
    source = {"S3Bucket": BUCKET, "S3KeyPrefix": f"{folder}data/"}
    imported(client, creation("copy"), InputFormat=kind, InputCompressionType="GZIP", S3BucketSource=source)
    assert client.scan(TableName="copy")["Items"] == client.scan(TableName=TABLE)["Items"]


def test_the_whole_of_an_export_has_its_items_and_errors(
    database: Database, client: Any, objects: MemoryObjects
) -> None:
    create(client)
    switch_on(database)
    client.put_item(TableName=TABLE, Item={"id": {"S": "1"}})
    exported(client)
    told = imported(client, creation("copy"), InputCompressionType="GZIP")
    assert told["FailureCode"] == "ItemValidationError"
    assert ids(client, "copy") == ["1"]


# --- errors ---------------------------------------------------------------------------------------


def test_a_line_that_is_no_json_ends_its_object(client: Any, objects: MemoryObjects) -> None:
    objects[BUCKET]["a"] = json_lines(*range(5)) + b"broken\n" + json_lines(*range(6, 10))
    objects[BUCKET]["b"] = json_lines(20)
    told = imported(client)
    assert (told["ImportStatus"], told["FailureCode"]) == ("FAILED", "ItemValidationError")
    assert told["FailureMessage"] == (
        "Some of the items failed validation checks and were not imported. Please check CloudWatch error logs for more"
        " details."
    )
    assert counts(told) == (7, 6, 1)
    assert ids(client) == ["i0", "i1", "i2", "i20", "i3", "i4"]


def test_an_item_that_is_refused_does_not(
    client: Any, objects: MemoryObjects, caplog: pytest.LogCaptureFixture
) -> None:
    faulty = [
        b'{"Item":{"x":{"S":"no key"}}}',
        b'{"Item":{"id":{"N":"1"}}}',
        b'{"Item":{"id":{"S":""}}}',
        b'{"Item":{"id":{"S":"x"},"n":{"N":"no number"}}}',
        b'{"Item":{"id":{"S":"x"},"s":{"SS":["a","a"]}}}',
        b'{"Item":{"id":{"S":"x"},"s":{"Q":"a"}}}',
        b'{"Item":{"id":"x"}}',
        b"{}",
        b'{"Item":{"id":{"S":"big"},"x":{"S":"%b"}}}' % (b"x" * 410_000),
    ]
    objects[BUCKET]["a"] = b"\n".join([json_lines(1).strip(), b"", *faulty, json_lines(2)])
    told = imported(client)
    assert counts(told) == (11, 2, 9)
    assert ids(client) == ["i1", "i2"]
    assert f"The import {told['ImportArn']}: object a, line 3: " in caplog.text
    assert "line 11: Item size has exceeded" in caplog.text


@pytest.mark.parametrize(
    ("kind", "content", "line"),
    [("GZIP", gzip.compress(json_lines(*range(9000)))[:-9000], 0), ("GZIP", b"no gzip", 1), ("ZSTD", b"no zstd", 1)],
)
def test_a_damaged_object_is_one_error(
    client: Any, objects: MemoryObjects, caplog: pytest.LogCaptureFixture, kind: str, content: bytes, line: int
) -> None:
    objects[BUCKET].update({"a": content, "b": {"GZIP": gzip, "ZSTD": zstd}[kind].compress(json_lines(10_000))})
    told = imported(client, InputCompressionType=kind)
    assert told["ErrorCount"] == 1
    assert told["ProcessedItemCount"] == told["ImportedItemCount"] + 1
    assert client.get_item(TableName=TABLE, Key={"id": {"S": "i10000"}})["Item"]["n"] == {"N": "10000"}
    assert f"object a, line {line or ''}" in caplog.text


def test_the_last_of_equal_keys_stays(client: Any, objects: MemoryObjects) -> None:
    table = creation(
        AttributeDefinitions=[
            {"AttributeName": "id", "AttributeType": "S"},
            {"AttributeName": "n", "AttributeType": "N"},
        ],
        GlobalSecondaryIndexes=[BY_N],
    )
    lines = [b'{"Item":{"id":{"S":"%d"},"n":{"N":"%d"}}}' % (number % 7, number) for number in range(700)]
    objects[BUCKET]["a"] = b"\n".join(lines)
    told = imported(client, table)
    assert counts(told) == (700, 700, 0)
    items = client.scan(TableName=TABLE)["Items"]
    assert sorted(int(item["n"]["N"]) for item in items) == list(range(693, 700))
    assert sorted(client.scan(TableName=TABLE, IndexName="by-n")["Items"], key=str) == sorted(items, key=str)
    assert client.describe_table(TableName=TABLE)["Table"]["ItemCount"] == 7


# --- the table meanwhile --------------------------------------------------------------------------


def test_the_table_is_invisible_and_its_name_free(client: Any, objects: MemoryObjects) -> None:
    objects[BUCKET]["a"] = json_lines(1)
    objects.hold("a")
    arn = begun(client)
    wait_until(lambda: objects.holds_some)
    assert client.list_tables()["TableNames"] == []
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        client.describe_table(TableName=TABLE)
    create(client)
    objects.release()
    told = ended(client, arn)
    assert (told["ImportStatus"], told["FailureCode"]) == ("FAILED", "TableAlreadyExists")
    assert ids(client) == []
    client.delete_table(TableName=TABLE)
    assert client.list_tables()["TableNames"] == []


def test_nothing_to_import_gives_an_empty_table(client: Any) -> None:
    told = imported(client)
    assert (told["ImportStatus"], counts(told)) == ("COMPLETED", (0, 0, 0))
    assert ids(client) == []


def test_a_bucket_that_is_not_there(client: Any) -> None:
    told = imported(client, S3BucketSource={"S3Bucket": "nowhere"})
    assert (told["ImportStatus"], told["FailureCode"], told["FailureMessage"]) == (
        "FAILED",
        "S3NoSuchBucket",
        MISSING_BUCKET,
    )
    assert counts(told) == (0, 0, 0)
    assert client.list_tables()["TableNames"] == []
    assert told["TableId"]


# --- refusals -------------------------------------------------------------------------------------


def test_what_is_refused(database: Database, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refusal(client, InputFormatOptions={"Csv": {}}) == (
        "ValidationException",
        "Invalid Request: Unsupported InputFormatOptions for the given input format: DYNAMODB_JSON.",
    )
    provisioned = creation(BillingMode="PROVISIONED")
    assert refusal(client, provisioned) == (
        "ValidationException",
        UNITS_MISSING,
    )
    code, message = refusal(client, InputFormat="CSV", InputFormatOptions={"Csv": {"Delimiter": "::"}})
    assert code == "ValidationException"
    assert message.startswith("2 validation errors detected: ")
    monkeypatch.setattr(transfer_requests, "ION_MODULE", "amazon.onion")
    monkeypatch.setattr(transfer_requests, "ZSTD_MODULE", "nothing.zstd")
    assert 'pip install ".[ion]"' in refusal(client, InputFormat="ION")[1]
    assert 'pip install ".[zstd]"' in refusal(client, InputCompressionType="ZSTD")[1]
    create(client)
    assert refusal(client) == ("ResourceInUseException", "Table already exists: music")
    monkeypatch.undo()
    assert refusal(client, creation("other"))[0] == "UnsupportedOperationException"


# --- tokens and lists -----------------------------------------------------------------------------


def test_a_token_names_one_import(client: Any) -> None:
    first = imported(client, ClientToken="again")
    assert refusal(client, ClientToken="again")[0] == "ResourceInUseException"
    assert refusal(client, creation("other"), ClientToken="again")[0] == "ImportConflictException"
    client.delete_table(TableName=TABLE)
    source = {"S3Bucket": BUCKET, "S3KeyPrefix": "elsewhere"}
    again = client.import_table(**request(S3BucketSource=source, ClientToken="again"))["ImportTableDescription"]
    assert (again["ImportArn"], again["ImportStatus"]) == (first["ImportArn"], "COMPLETED")
    assert client.list_tables()["TableNames"] == []


def test_lists_begin_with_the_newest(database: Database, client: Any) -> None:
    arns = []
    for number in range(12):
        arns.append(imported(client, creation(f"t-{number}"))["ImportArn"])
        database.clock.advance(1)
    page = client.list_imports()
    assert len(page["NextToken"]) >= 112
    rest = client.list_imports(NextToken=page["NextToken"])
    listed = page["ImportSummaryList"] + rest["ImportSummaryList"]
    assert [one["ImportArn"] for one in listed] == arns[::-1]
    assert len(page["ImportSummaryList"]) == 10
    assert set(listed[0]) == {
        "ImportArn", "ImportStatus", "TableArn", "S3BucketSource", "CloudWatchLogGroupArn", "InputFormat", "StartTime",
        "EndTime",
    }  # fmt: skip
    one = client.list_imports(TableArn=ARN.replace(TABLE, "t-3"))["ImportSummaryList"]
    assert [summary["ImportArn"] for summary in one] == [arns[3]]


def test_an_import_that_never_was(client: Any) -> None:
    with pytest.raises(ClientError) as refused:
        client.describe_import(ImportArn=f"{ARN}/import/01700000000000-01234567")
    assert refused.value.response["Error"]["Code"] == "ImportNotFoundException"


# --- ends in the middle ---------------------------------------------------------------------------


def test_an_import_that_fails_later_goes_on_from_its_progress(
    client: Any, objects: MemoryObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_work, "BATCH_ITEMS", 4)
    monkeypatch.setattr(reading, "WRITES_BETWEEN_PLACES", 3)
    objects.chunk_bytes = 100
    lines = json_lines(*range(200))
    objects[BUCKET]["a"] = lines
    objects.fails_at = 3000
    told = imported(client)
    assert (told["ImportStatus"], counts(told)) == ("COMPLETED", (200, 200, 0))
    assert told["ProcessedSizeBytes"] == len(lines)
    assert len(ids(client)) == 200
    assert objects.fails_at is None


@pytest.mark.parametrize(("text", "count"), [(b"{}\n" * 200, 200), (b"{} " * 200 + b"\n", 200)])
def test_a_place_is_kept_of_an_object_with_nothing_but_errors(
    client: Any, objects: MemoryObjects, monkeypatch: pytest.MonkeyPatch, text: bytes, count: int
) -> None:
    """It was read from its begin again, even of one line that has very many."""
    monkeypatch.setattr(import_work, "BATCH_ITEMS", 4)
    monkeypatch.setattr(reading, "WRITES_BETWEEN_PLACES", 3)
    taken: list[Any] = []
    take = import_work.ImportWork.take

    def note(work: import_work.ImportWork, read: reading.ReadItems) -> None:
        taken.extend(read.items)
        take(work, read)

    monkeypatch.setattr(import_work.ImportWork, "take", note)
    objects.chunk_bytes = 100
    objects[BUCKET]["a"] = text + json_lines(*range(50))
    objects.fails_at = len(text) + 500
    told = imported(client)
    assert objects.fails_at is None
    assert counts(told) == (count + 50, 50, count)
    assert told["ProcessedSizeBytes"] == len(objects[BUCKET]["a"])
    assert len(taken) < count + 50 + 50  # what was read twice is what followed the last place


def test_s3_that_ends_in_the_middle_leaves_the_good_items(client: Any, objects: MemoryObjects) -> None:
    objects[BUCKET].update({"a": json_lines(*range(10)), "b": json_lines(11)})
    objects.hold("b")
    arn = begun(client)
    wait_until(lambda: objects.holds_some)
    objects.refuses = S3Failure("SlowDown", "Please reduce your request rate.", 503)
    objects.release()
    told = ended(client, arn)
    assert (told["FailureCode"], told["ImportedItemCount"]) == ("S3SlowDown", 10)
    assert len(ids(client)) == 10


def test_items_that_a_vector_index_refuses_are_not_imported(client: Any, objects: MemoryObjects) -> None:
    good, bad = [{"N": "1"}, {"N": "2"}, {"N": "3"}], [{"N": "1"}]
    objects[BUCKET]["a"] = b"".join(
        json.dumps({"Item": {"id": {"S": name}, "embedding": {"L": elements}}}).encode() + b"\n"
        for name, elements in (("good", good), ("bad", bad), ("better", good))
    )
    told = imported(client, creation(VectorIndexes=[vector_index()]))
    assert counts(told) == (3, 2, 1)
    assert told["TableCreationParameters"]["VectorIndexes"] == [vector_index()]
    assert ids(client) == ["better", "good"]
    (index,) = client.describe_table(TableName=TABLE)["Table"]["VectorIndexes"]
    assert (index["IndexStatus"], index["ItemCount"]) == ("ACTIVE", 2)
