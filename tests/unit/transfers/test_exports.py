"""Exports: what the operations answer, what lies in the bucket afterwards, and what goes wrong."""

import base64
import gzip
import hashlib
import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from hashrange.s3.objects import S3Failure
from hashrange.testing.database import Database
from hashrange.transfers import export_work
from tests.support.memory_objects import MISSING_BUCKET, MemoryObjects
from tests.support.waiting import wait_until
from tests.unit.transfers.transferred import (
    ARN,
    BUCKET,
    TABLE,
    create,
    ended,
    exported,
    lines_of,
    switch_on,
)

INCREMENTAL_EXPECTED = (
    "Invalid Request: Export Type expected to be Incremental Export when incremental export specification is provided"
)
pytestmark = pytest.mark.usefixtures("objects")


@pytest.fixture
def table(database: Database, client: Any) -> None:
    create(client)
    switch_on(database)


def put(client: Any, *numbers: int, **attributes: Any) -> None:
    for number in numbers:
        client.put_item(TableName=TABLE, Item={"id": {"S": f"i{number}"}, "n": {"N": str(number)}} | attributes)


def refusal(client: Any, **members: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as refused:
        client.export_table_to_point_in_time(**({"TableArn": ARN, "S3Bucket": BUCKET} | members))
    error = refused.value.response["Error"]
    return error["Code"], error["Message"]


# --- a full export --------------------------------------------------------------------------------


@pytest.mark.usefixtures("table")
def test_an_export_has_all_items_and_describes_itself(client: Any, objects: MemoryObjects) -> None:
    put(client, *range(30), b={"B": b"\x00\xff"}, s={"SS": ["b", "a"]})
    told = exported(client, S3Prefix="nightly/", ClientToken="t-1")
    lines = lines_of(objects, told)
    assert sorted(int(line["Item"]["n"]["N"]) for line in lines) == list(range(30))
    assert lines[0]["Item"]["b"] == {"B": base64.b64encode(b"\x00\xff").decode()}
    assert lines[0]["Item"]["s"] == {"SS": ["a", "b"]}
    export_id = told["ExportArn"].rpartition("/")[2]
    assert told["ExportArn"] == f"{ARN}/export/{export_id}"
    assert told["ExportManifest"] == f"nightly/AWSDynamoDB/{export_id}/manifest-summary.json"
    assert (told["ItemCount"], told["ClientToken"], told["S3SseAlgorithm"]) == (30, "t-1", "AES256")
    assert told["BilledSizeBytes"] == client.describe_table(TableName=TABLE)["Table"]["TableSizeBytes"]
    assert "ExportType" not in told


@pytest.mark.usefixtures("table")
def test_the_layout_in_the_bucket(client: Any, objects: MemoryObjects) -> None:
    put(client, 1)
    told = exported(client)
    folder = told["ExportManifest"].removesuffix("manifest-summary.json")
    bucket = objects[BUCKET]
    data_key = next(key for key in bucket if "/data/" in key)
    name = data_key.removeprefix(f"{folder}data/")
    assert set(name.removesuffix(".json.gz")) <= set("abcdefghijklmnopqrstuvwxyz234567")
    assert len(name) == 26 + len(".json.gz")
    expected = [
        "_started",
        "manifest-summary.json",
        "manifest-summary.md5",
        "manifest-files.json",
        "manifest-files.md5",
    ]
    assert set(bucket) == {data_key, *[folder + one for one in expected]}
    assert bucket[f"{folder}_started"] == b""
    assert gzip.decompress(bucket[data_key]) == b'{"Item":{"id":{"S":"i1"},"n":{"N":"1"}}}\n'
    digest = hashlib.md5(bucket[data_key]).digest()
    files = bucket[f"{folder}manifest-files.json"]
    assert json.loads(files) == {
        "itemCount": 1,
        "md5Checksum": base64.b64encode(digest).decode(),
        "etag": hashlib.md5(digest).hexdigest() + "-1",
        "dataFileS3Key": data_key,
    }
    assert files.endswith(b"\n")
    for name in ("manifest-files", "manifest-summary"):
        content = bucket[f"{folder}{name}.json"]
        assert bucket[f"{folder}{name}.md5"] == base64.b64encode(hashlib.md5(content).digest())
    summary = json.loads(bucket[told["ExportManifest"]])
    assert list(summary) == [
        "version", "exportArn", "startTime", "endTime", "tableArn", "tableId", "exportTime", "s3Bucket", "s3Prefix",
        "s3SseAlgorithm", "s3SseKmsKeyId", "manifestFilesS3Key", "billedSizeBytes", "itemCount", "outputFormat",
    ]  # fmt: skip
    assert summary["s3Prefix"] is summary["s3SseKmsKeyId"] is None
    assert (summary["version"], summary["itemCount"], summary["tableId"]) == ("2020-06-30", 1, told["TableId"])
    assert objects.options[data_key].encryption == "AES256"


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("prefix", ["", "a", "a/", "a/b//"])
def test_prefixes(client: Any, prefix: str) -> None:
    told = exported(client, S3Prefix=prefix)
    expected = prefix.removesuffix("/") + "/" if prefix else ""
    assert told["ExportManifest"].startswith(f"{expected}AWSDynamoDB/0")
    assert told["S3Prefix"] == prefix


@pytest.mark.usefixtures("table")
def test_an_empty_table_has_a_data_file_of_nothing(client: Any, objects: MemoryObjects) -> None:
    told = exported(client)
    (data,) = [content for key, content in objects[BUCKET].items() if "/data/" in key]
    assert (len(data), gzip.decompress(data), told["ItemCount"], told["BilledSizeBytes"]) == (20, b"", 0, 0)


@pytest.mark.usefixtures("table")
def test_several_data_files_have_each_item_once(
    client: Any, objects: MemoryObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_work, "READ_BYTES", 100)
    monkeypatch.setattr(export_work, "FILE_BYTES", 300)
    put(client, *range(40))
    told = exported(client)
    assert sorted(int(line["Item"]["n"]["N"]) for line in lines_of(objects, told)) == list(range(40))
    assert len([key for key in objects[BUCKET] if "/data/" in key]) > 4


@pytest.mark.usefixtures("table")
def test_a_past_moment_is_exported(database: Database, client: Any, objects: MemoryObjects) -> None:
    put(client, 1, 2)
    database.clock.advance(10)
    moment = int(database.clock.now())
    database.clock.advance(10)
    put(client, 2, 3, later={"BOOL": True})
    client.delete_item(TableName=TABLE, Key={"id": {"S": "i1"}})
    told = exported(client, ExportTime=moment)
    assert sorted((line["Item"] for line in lines_of(objects, told)), key=str) == [
        {"id": {"S": "i1"}, "n": {"N": "1"}},
        {"id": {"S": "i2"}, "n": {"N": "2"}},
    ]


@pytest.mark.usefixtures("table")
def test_writers_that_move_money_meanwhile_do_not_show(
    client: Any, objects: MemoryObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_work, "READ_BYTES", 100)
    put(client, *range(20), money={"N": "100"})
    arn = client.export_table_to_point_in_time(TableArn=ARN, S3Bucket=BUCKET)["ExportDescription"]["ExportArn"]
    for number in range(100):
        one, other = f"i{number % 20}", f"i{number * 7 % 20}"
        updates = [
            {
                "Update": {
                    "TableName": TABLE,
                    "Key": {"id": {"S": name}},
                    "UpdateExpression": "ADD money :m",
                    "ExpressionAttributeValues": {":m": {"N": amount}},
                }
            }
            for name, amount in ((one, "-7"), (other, "7"))
        ]
        if one != other:
            client.transact_write_items(TransactItems=updates)
    lines = lines_of(objects, ended(client, arn))
    assert sum(int(line["Item"]["money"]["N"]) for line in lines) == 2000
    assert len(lines) == 20


# --- an incremental export ------------------------------------------------------------------------


def test_changes_are_compacted(database: Database, client: Any, objects: MemoryObjects) -> None:
    create(client)
    switch_on(database)
    put(client, 1, 2, 3)
    database.clock.advance(60)
    begin = int(database.clock.now())
    database.clock.advance(60)
    put(client, 1, x={"S": "first"})
    put(client, 1, x={"S": "second"})
    client.delete_item(TableName=TABLE, Key={"id": {"S": "i2"}})
    put(client, 4, 5)
    client.delete_item(TableName=TABLE, Key={"id": {"S": "i5"}})
    database.clock.advance(3600)
    window = {"ExportFromTime": begin, "ExportToTime": begin + 1800}
    put(client, 3, x={"S": "later"})
    told = exported(client, ExportType="INCREMENTAL_EXPORT", IncrementalExportSpecification=window)
    lines = {line["Keys"]["id"]["S"]: line for line in lines_of(objects, told)}
    assert set(lines) == {"i1", "i2", "i4"}
    assert list(lines["i1"]) == ["Metadata", "Keys", "OldImage", "NewImage"]
    assert lines["i1"]["OldImage"] == {"id": {"S": "i1"}, "n": {"N": "1"}}
    assert lines["i1"]["NewImage"]["x"] == {"S": "second"}
    assert list(lines["i2"]) == ["Metadata", "Keys", "OldImage"]
    assert list(lines["i4"]) == ["Metadata", "Keys", "NewImage"]
    written = int(lines["i4"]["Metadata"]["WriteTimestampMicros"]["N"])
    assert begin * 1e6 < written < (begin + 1800) * 1e6
    assert (told["BilledSizeBytes"], told["ItemCount"]) == (10_000_000, 3)
    summary = json.loads(objects[BUCKET][told["ExportManifest"]])
    assert list(summary)[6:8] == ["exportFromTime", "exportToTime"]
    assert list(summary)[-2:] == ["outputView", "exportType"]
    data_keys = [key for key in objects[BUCKET] if "/data/" in key]
    assert data_keys[0].startswith("AWSDynamoDB/data/")
    new_only = {**window, "ExportViewType": "NEW_IMAGE"}
    told = exported(client, ExportType="INCREMENTAL_EXPORT", IncrementalExportSpecification=new_only)
    lines = {line["Keys"]["id"]["S"]: line for line in lines_of(objects, told)}
    assert list(lines["i2"]) == ["Metadata", "Keys"]


# --- filters --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("table")
def test_a_filter_chooses_items_and_attributes(client: Any, objects: MemoryObjects) -> None:
    put(client, *range(10), x={"S": "x"})
    chosen = {
        "FilterExpression": "n >= :n",
        "ProjectionExpression": "id, #n",
        "ExpressionAttributeNames": {"#n": "n"},
        "ExpressionAttributeValues": {":n": {"N": "8"}},
    }
    told = exported(client, FilterSpecification=chosen)
    assert sorted((line["Item"] for line in lines_of(objects, told)), key=str) == [
        {"id": {"S": "i8"}, "n": {"N": "8"}},
        {"id": {"S": "i9"}, "n": {"N": "9"}},
    ]
    assert told["FilterSpecification"] == chosen
    key = {"KeyConditionExpression": "id = :i", "ExpressionAttributeValues": {":i": {"S": "i4"}}}
    told = exported(client, FilterSpecification=key)
    assert [line["Item"]["n"]["N"] for line in lines_of(objects, told)] == ["4"]


@pytest.mark.usefixtures("table")
def test_the_values_of_a_filter_are_read_only_where_they_are_told(client: Any, database: Database) -> None:
    """ListExports reads the records of all exports of 90 days."""
    long: Any = {"L": [{"L": []}] * 40_000}
    chosen = {"FilterExpression": "n <> :n", "ExpressionAttributeValues": {":n": long}}
    arn = exported(client, FilterSpecification=chosen)["ExportArn"]
    documents = database._process.service.store.documents
    kept = {name: len(document) for name, document in documents.below("export")}
    assert sorted(name.partition("/")[0] for name in kept) == ["export", "export-values"]
    assert max(length for name, length in kept.items() if name.startswith("export/")) < 2000
    assert client.describe_export(ExportArn=arn)["ExportDescription"]["FilterSpecification"] == chosen
    database.clock.advance(91 * 86_400)
    exported(client)
    assert [name.partition("/")[0] for name, _ in documents.below("export")] == ["export"]


@pytest.mark.usefixtures("table")
def test_filters_that_do_not_fit_are_refused(client: Any) -> None:
    values = {":i": {"S": "a"}}
    assert refusal(client, FilterSpecification={}) == (
        "ValidationException",
        "Invalid Request: Invalid FilterSpecification: The specification can not be empty",
    )
    both = {
        "KeyConditionExpression": "id = :i",
        "FilterExpression": "id = :i",
        "ExpressionAttributeValues": values,
    }
    assert "primary key attribute" in refusal(client, FilterSpecification=both)[1]
    wrong = {"KeyConditionExpression": "x = :i", "ExpressionAttributeValues": values}
    assert "missed key schema element: id" in refusal(client, FilterSpecification=wrong)[1]


# --- refusals and failures ------------------------------------------------------------------------


def test_members_that_do_not_go_together(client: Any) -> None:
    assert refusal(client, IncrementalExportSpecification={"ExportFromTime": 1}) == (
        "ValidationException",
        INCREMENTAL_EXPECTED,
    )
    assert refusal(client, S3SseKmsKeyId="k")[1] == (
        "Invalid Request: KMS Key Id is not supported for this encryption type"
    )
    assert refusal(client, ExportType="INCREMENTAL_EXPORT")[0] == "ValidationException"


def test_recovery_must_be_on(client: Any) -> None:
    assert refusal(client) == ("TableNotFoundException", "Table not found: music")
    create(client)
    assert refusal(client) == (
        "PointInTimeRecoveryUnavailableException",
        "Point in time recovery is not enabled for table 'music'",
    )


@pytest.mark.usefixtures("table")
def test_times_outside_the_window(database: Database, client: Any) -> None:
    now = int(database.clock.now())
    for at in (now - 3600, now + 3600):
        assert refusal(client, ExportTime=at) == ("InvalidExportTimeException", "Export Time is invalid")

    def incremental(begin: float, end: float) -> str:
        window = {"ExportFromTime": begin, "ExportToTime": end}
        code, message = refusal(client, ExportType="INCREMENTAL_EXPORT", IncrementalExportSpecification=window)
        assert code == "InvalidExportTimeException"
        return message

    assert incremental(now - 3600, now).startswith(
        "Incremental export period from time cannot be less than the table creation time : "
    )
    assert incremental(now, now + 3600).startswith(
        "Incremental export period to time cannot be greater than the current time : "
    )
    assert incremental(now, now) == (
        "Difference between export period from time and export period to time is less than 15 minutes"
    )
    database.clock.advance(3 * 86_400)
    assert "24 hours" in incremental(now, now + 2 * 86_400)


@pytest.mark.usefixtures("table")
def test_what_s3_refuses_is_the_failure_of_the_export(client: Any, objects: MemoryObjects) -> None:
    told = exported(client, S3Bucket="nowhere")
    assert (told["ExportStatus"], told["FailureCode"], told["FailureMessage"]) == (
        "FAILED",
        "S3NoSuchBucket",
        MISSING_BUCKET,
    )
    objects.refuses = S3Failure("AccessDenied", "Access Denied", 403)
    told = exported(client)
    assert (told["FailureCode"], told["FailureMessage"]) == ("S3AccessDenied", "Access Denied")
    assert "ExportManifest" not in told


def test_an_export_needs_an_s3(database: Database, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    create(client)
    switch_on(database)
    monkeypatch.undo()
    code, message = refusal(client)
    assert code == "UnsupportedOperationException"
    assert "--s3-folder" in message


# --- tokens and lists -----------------------------------------------------------------------------


@pytest.mark.usefixtures("table")
def test_a_token_names_one_export(database: Database, client: Any) -> None:
    first = exported(client, ClientToken="again", S3Bucket="nowhere")
    again = client.export_table_to_point_in_time(TableArn=ARN, S3Bucket="nowhere", ClientToken="again")
    assert again["ExportDescription"]["ExportArn"] == first["ExportArn"]
    assert again["ExportDescription"]["ExportStatus"] == "FAILED"
    assert refusal(client, ClientToken="again") == (
        "ExportConflictException",
        "Export conflict: Duplicate request detected with conflicting parameters",
    )
    database.clock.advance(8 * 3600)
    assert exported(client, ClientToken="again")["ExportArn"] != first["ExportArn"]


@pytest.mark.usefixtures("table")
def test_lists_begin_with_the_newest(database: Database, client: Any) -> None:
    arns = []
    for _ in range(3):
        arns.append(exported(client)["ExportArn"])
        database.clock.advance(1)
    page = client.list_exports(TableArn=ARN, MaxResults=2)
    rest = client.list_exports(MaxResults=2, NextToken=page["NextToken"])
    listed = page["ExportSummaries"] + rest["ExportSummaries"]
    assert [one["ExportArn"] for one in listed] == arns[::-1]
    assert listed[0] == {"ExportArn": arns[2], "ExportStatus": "COMPLETED", "ExportType": "FULL_EXPORT"}
    assert "NextToken" not in rest
    client.delete_table(TableName=TABLE)
    assert client.list_exports()["ExportSummaries"] == []
    assert client.describe_export(ExportArn=arns[0])["ExportDescription"]["ExportStatus"] == "COMPLETED"


def test_an_export_that_never_was(client: Any) -> None:
    arn = f"{ARN}/export/01700000000000-01234567"
    with pytest.raises(ClientError) as refused:
        client.describe_export(ExportArn=arn)
    assert refused.value.response["Error"] == {
        "Code": "ExportNotFoundException",
        "Message": f"Export not found: Export not found: {arn}",
    }


# --- ends in the middle ---------------------------------------------------------------------------


@pytest.mark.usefixtures("table")
def test_a_table_deleted_meanwhile_is_exported_whole(
    client: Any, objects: MemoryObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_work, "READ_BYTES", 100)
    put(client, *range(30))
    objects.hold("_started")
    arn = client.export_table_to_point_in_time(TableArn=ARN, S3Bucket=BUCKET)["ExportDescription"]["ExportArn"]
    wait_until(lambda: objects.holds_some)
    client.delete_table(TableName=TABLE)
    objects.release()
    told = ended(client, arn)
    assert (told["ExportStatus"], told["ItemCount"], len(lines_of(objects, told))) == ("COMPLETED", 30, 30)


@pytest.mark.usefixtures("table")
def test_an_export_that_s3_cuts_off_leaves_no_half_object(client: Any, objects: MemoryObjects) -> None:
    put(client, *range(30))
    objects.hold("/data/")
    arn = client.export_table_to_point_in_time(TableArn=ARN, S3Bucket=BUCKET)["ExportDescription"]["ExportArn"]
    wait_until(lambda: objects.holds_some)
    objects.refuses = S3Failure("SlowDown", "Please reduce your request rate.", 503)
    objects.release()
    assert ended(client, arn)["FailureCode"] == "S3SlowDown"
    assert [key.rpartition("/")[2] for key in objects[BUCKET]] == ["_started"]
