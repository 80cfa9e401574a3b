"""Bulk puts: items of objects into a table that is there, with conditions, and both reports."""

import gzip
import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from hashrange import limits
from hashrange.s3.objects import S3Failure
from hashrange.settings import Settings
from hashrange.testing import server
from hashrange.testing.database import Database
from hashrange.transfers import bulk_reports, bulk_work, reading
from hashrange.transfers.bulk_reports import ReportLines
from tests.conformance.vectors import vector, vector_index
from tests.support.memory_objects import MISSING_BUCKET, MemoryObjects
from tests.support.waiting import wait_until
from tests.unit.transfers.transferred import ARN, BUCKET, TABLE, create, give_objects

pytestmark = pytest.mark.usefixtures("objects")
NEW = {"ConditionExpression": "attribute_not_exists(#i)", "ExpressionAttributeNames": {"#i": "id"}}


@pytest.fixture(autouse=True)
def table(client: Any) -> None:
    create(client)


def lines(*records: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def item(number: int, **attributes: Any) -> dict[str, Any]:
    return {"id": {"S": str(number)}, "n": {"N": str(number)}} | attributes


def request(**members: Any) -> dict[str, Any]:
    return {
        "TableName": TABLE,
        "InputS3Configuration": {"S3Bucket": BUCKET, "S3KeyPrefix": "in/", "InputFormat": "DYNAMODB_JSON"},
        "OutputS3Configuration": {"S3Bucket": BUCKET, "OutputType": ["ERROR", "CONDITION_CHECK_FAILURE"]},
    } | members


def begun(client: Any, **members: Any) -> str:
    arn: str = client.start_bulk_put_items(**request(**members))["BulkOperationDescription"]["BulkOperationArn"]
    return arn


def described(client: Any, arn: str) -> dict[str, Any]:
    found: dict[str, Any] = client.describe_bulk_operation(BulkOperationArn=arn)["BulkOperationDescription"]
    return found


def ended(client: Any, arn: str) -> dict[str, Any]:
    wait_until(lambda: described(client, arn)["BulkOperationStatus"] not in ("IN_PROGRESS", "CANCELLING"))
    return described(client, arn)


def refusal(client: Any, **members: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as refused:
        client.start_bulk_put_items(**request(**members))
    error = refused.value.response["Error"]
    return error["Code"], error["Message"]


def report(objects: MemoryObjects, kind: str) -> list[dict[str, Any]]:
    found = [gzip.decompress(content) for key, content in objects[BUCKET].items() if f"/{kind}/" in key]
    return [json.loads(line) for line in b"".join(found).splitlines()]


def test_items_are_put(client: Any, objects: MemoryObjects) -> None:
    client.put_item(TableName=TABLE, Item=item(1, old={"BOOL": True}))
    objects[BUCKET]["in/a"] = content = lines(*({"Item": item(number)} for number in range(200)))
    told = ended(client, begun(client, MaxWriteRequestUnits=2048))
    assert (told["BulkOperationStatus"], told["ProcessedItemCount"], told["FailedItemCount"]) == ("COMPLETED", 200, 0)
    assert told["ProcessedInputBytes"] == told["TotalInputBytes"] == len(content)
    assert told["TableDetails"][0]["TableName"] == TABLE
    assert (told["MaxWriteRequestUnits"], told["PerformanceTier"]) == (2048, "STANDARD")
    assert "FailureCode" not in told
    found = client.scan(TableName=TABLE)["Items"]
    assert sorted(found, key=str) == sorted(map(item, range(200)), key=str)
    size_bytes = client.describe_table(TableName=TABLE)["Table"]["TableSizeBytes"]
    assert told["BulkOperationUsage"] == [
        {"TableName": TABLE, "BulkPutBytes": size_bytes, "Table": {"BulkPutBytes": size_bytes}}
    ]


def test_what_vector_indexes_get_is_told_by_itself(client: Any, objects: MemoryObjects) -> None:
    client.delete_table(TableName=TABLE)
    create(client, VectorIndexes=[vector_index()])
    objects[BUCKET]["in/a"] = lines(
        {"Item": item(1, embedding=vector(1, 2, 3))}, {"Item": item(2, embedding=vector(1, 2))}, {"Item": item(3)}
    )
    told = ended(client, begun(client))
    assert (told["ProcessedItemCount"], told["FailedItemCount"]) == (3, 1)
    (usage,) = told["BulkOperationUsage"]
    (index,) = client.describe_table(TableName=TABLE)["Table"]["VectorIndexes"]
    assert index["ItemCount"] == 1
    assert usage["VectorIndexes"] == {"plain": {"BulkPutVectorBytes": index["IndexSizeBytes"]}}
    assert usage["BulkPutBytes"] == usage["Table"]["BulkPutBytes"]
    assert "GlobalSecondaryIndexes" not in usage


def test_conditions_and_both_reports(client: Any, objects: MemoryObjects) -> None:
    client.put_item(TableName=TABLE, Item=item(1, old={"BOOL": True}))
    objects[BUCKET]["in/a"] = lines(
        {"Item": item(1), **NEW},
        {"Item": item(2), **NEW},
        {"Item": {"n": {"N": "3"}}},
        {"Item": item(4), "ConditionExpression": "oops ="},
        {"Item": item(5), "ConditionExpression": 5},
    )
    objects[BUCKET]["in/b"] = b"broken\n" + lines({"Item": item(6)})
    told = ended(client, begun(client))
    assert told["BulkOperationStatus"] == "COMPLETED_WITH_ERRORS"
    assert (told["ProcessedItemCount"], told["FailedItemCount"]) == (6, 4)
    assert sorted(one["id"]["S"] for one in client.scan(TableName=TABLE)["Items"]) == ["1", "2"]
    (refused,) = report(objects, "condition-check-failure")
    assert refused == {
        "ObjectKey": "in/a",
        "Line": 1,
        "Item": item(1),
        "ExistingItem": item(1, old={"BOOL": True}),
    }
    errors = report(objects, "error")
    assert [(one["ObjectKey"], one["Line"]) for one in errors] == [("in/a", 3), ("in/a", 4), ("in/a", 5), ("in/b", 1)]
    assert errors[0]["Item"] == {"n": {"N": "3"}}
    assert "Missing the key id" in errors[0]["ErrorMessage"]


def test_only_reports_that_were_asked_for_are_written(client: Any, objects: MemoryObjects) -> None:
    client.put_item(TableName=TABLE, Item=item(1))
    objects[BUCKET]["in/a"] = lines({"Item": item(1), **NEW}, {})
    output = {"S3Bucket": BUCKET, "S3KeyPrefix": "out", "OutputType": ["ERROR"]}
    ended(client, begun(client, OutputS3Configuration=output))
    (key,) = [key for key in objects[BUCKET] if not key.startswith("in/")]
    assert key.startswith("out/AWSDynamoDB/")
    assert "/error/" in key


def test_ion_has_conditions_too(client: Any, objects: MemoryObjects) -> None:
    objects[BUCKET]["in/a"] = (
        b'$ion_1_0 {Item:{id:"1",n:1.}}\n'
        b'{Item:{id:"1",n:2.},ConditionExpression:"n < :n",ExpressionAttributeValues:{\':n\':0}}\n'
        b'{Item:{id:"1",n:3.},ConditionExpression:"#n < :n",ExpressionAttributeNames:{\'#n\':"n"},'
        b"ExpressionAttributeValues:{':n':2}}\n"
    )
    source = {"S3Bucket": BUCKET, "S3KeyPrefix": "in/", "InputFormat": "ION"}
    told = ended(client, begun(client, InputS3Configuration=source))
    assert (told["BulkOperationStatus"], told["ProcessedItemCount"]) == ("COMPLETED", 3)
    assert client.scan(TableName=TABLE)["Items"] == [item(1) | {"n": {"N": "3"}}]
    assert len(report(objects, "condition-check-failure")) == 1


def test_a_struct_of_ion_may_have_many_lines(client: Any, objects: MemoryObjects) -> None:
    """The model calls the input a sequence of Ion structs; such a struct ended its object as damaged."""
    objects[BUCKET]["in/a"] = (
        b'$ion_1_0\n{\n  Item:{\n    id:"1",\n    n:1.,\n  }\n}\n'
        b'{Item:{id:"2",n:2.}} {\n  Item:{id:"3",n:3.}\n}\n'
        b"{\n  Item:{x:'''}\n'''}\n}\n"
        b'{Item:{id:"4",n:4.}}'
    )
    source = {"S3Bucket": BUCKET, "S3KeyPrefix": "in/", "InputFormat": "ION"}
    told = ended(client, begun(client, InputS3Configuration=source))
    assert (told["ProcessedItemCount"], told["FailedItemCount"]) == (5, 1)
    found = client.scan(TableName=TABLE)["Items"]
    assert sorted(found, key=str) == [item(number) for number in range(1, 5)]
    (refused,) = report(objects, "error")
    assert (refused["Line"], refused["Item"]) == (11, {"x": {"S": "}\n"}})


def test_a_bulk_put_is_cancelled(client: Any, objects: MemoryObjects) -> None:
    objects[BUCKET].update({"in/a": lines({"Item": item(1)}), "in/b": lines({"Item": item(2)})})
    objects.hold("in/b")
    arn = begun(client)
    wait_until(lambda: objects.holds_some)
    asked = client.cancel_bulk_operation(BulkOperationArn=arn)
    assert (asked["BulkOperationArn"], asked["BulkOperationStatus"]) == (arn, "CANCELLING")
    told = ended(client, arn)
    assert (told["BulkOperationStatus"], told["ProcessedItemCount"]) == ("CANCELLED", 1)
    assert len(client.scan(TableName=TABLE)["Items"]) == 1


def test_what_s3_refuses_is_its_failure(client: Any, objects: MemoryObjects) -> None:
    source = {"S3Bucket": "nowhere", "InputFormat": "DYNAMODB_JSON"}
    told = ended(client, begun(client, InputS3Configuration=source))
    assert (told["BulkOperationStatus"], told["FailureCode"], told["FailureMessage"]) == (
        "FAILED",
        "S3NoSuchBucket",
        MISSING_BUCKET,
    )


@pytest.mark.parametrize(
    ("limit", "most", "code"),
    [("IMPORTED_OBJECTS_MAX", 1, "S3TooManyObjects"), ("BULK_OBJECT_BYTES_MAX", 100, "S3ObjectTooLarge")],
)
def test_objects_beyond_the_quotas_fail_before_an_item_is_put(
    client: Any, objects: MemoryObjects, monkeypatch: pytest.MonkeyPatch, limit: str, most: int, code: str
) -> None:
    monkeypatch.setattr(limits, limit, most)
    objects[BUCKET].update({"in/a": lines({"Item": item(1)}), "in/b": lines({"Item": item(2, v={"S": "x" * 100})})})
    told = ended(client, begun(client))
    assert (told["BulkOperationStatus"], told["FailureCode"]) == ("FAILED", code)
    assert str(most) in told["FailureMessage"]
    assert client.scan(TableName=TABLE)["Items"] == []


def test_the_reports_of_one_that_fails_are_whole(client: Any, objects: MemoryObjects) -> None:
    client.put_item(TableName=TABLE, Item=item(1))
    objects[BUCKET].update({"in/a": lines({"Item": item(1), **NEW}, {"Item": {}}), "in/b": lines({"Item": item(2)})})
    objects.hold("in/b")
    arn = begun(client)
    wait_until(lambda: objects.holds_some)
    objects.lost.add("in/b")
    objects.release()
    told = ended(client, arn)
    assert (told["BulkOperationStatus"], told["FailureCode"]) == ("FAILED", "S3NoSuchKey")
    assert (told["ProcessedItemCount"], told["FailedItemCount"]) == (2, 1)
    assert [one["Line"] for one in report(objects, "condition-check-failure")] == [1]
    assert [one["Line"] for one in report(objects, "error")] == [2]


def test_a_report_that_cannot_be_written_does_not_hide_why_it_failed(client: Any, objects: MemoryObjects) -> None:
    objects[BUCKET].update({"in/a": lines({"Item": {}}), "in/b": lines({"Item": item(2)})})
    objects.lost.add("in/b")
    output = {"S3Bucket": "nowhere", "OutputType": ["ERROR"]}
    told = ended(client, begun(client, OutputS3Configuration=output))
    assert (told["BulkOperationStatus"], told["FailureCode"]) == ("FAILED", "S3NoSuchKey")


def test_units_a_second_are_kept_to(database: Database, client: Any, objects: MemoryObjects) -> None:
    database.clock.freeze()
    objects[BUCKET]["in/a"] = lines(*({"Item": item(number)} for number in range(3000)))
    arn = begun(client, MaxWriteRequestUnits=1024)
    counts = []
    for _ in range(3):
        database.clock.advance(1)
        counts.append(client.scan(TableName=TABLE, Select="COUNT")["Count"])
    assert all(second * 1024 <= count < second * 1024 + 128 for second, count in enumerate(counts[:-1], 1))
    assert counts[-1] == 3000
    told = described(client, arn)
    assert (told["BulkOperationStatus"], told["ProcessedItemCount"]) == ("COMPLETED", 3000)
    assert told["EndTime"].timestamp() == pytest.approx(told["StartTime"].timestamp() + 3000 / 1024, abs=0.1)


def test_the_bytes_of_an_object_count_while_it_is_read(
    database: Database, client: Any, objects: MemoryObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "WRITES_BETWEEN_PLACES", 1)
    objects.chunk_bytes = 1000
    database.clock.freeze()
    objects[BUCKET]["in/a"] = content = lines(*({"Item": item(number)} for number in range(2000)))
    arn = begun(client, MaxWriteRequestUnits=1024)
    database.clock.advance(1)
    told = described(client, arn)
    assert 0 < told["ProcessedItemCount"] < 2000
    assert len(content) // 4 < told["ProcessedInputBytes"] < told["TotalInputBytes"] == len(content)
    client.cancel_bulk_operation(BulkOperationArn=arn)
    cancelled = ended(client, arn)
    assert cancelled["BulkOperationStatus"] == "CANCELLED"
    assert told["ProcessedInputBytes"] <= cancelled["ProcessedInputBytes"] < len(content)


def test_units_of_large_items_and_of_refused_ones_are_kept_to(
    database: Database, client: Any, objects: MemoryObjects
) -> None:
    large = {"v": {"S": "x" * 100_000}}
    client.put_item(TableName=TABLE, Item=item(0, **large))
    database.clock.freeze()
    again = [{"Item": item(0), **NEW}] * 100
    objects[BUCKET]["in/a"] = lines(*({"Item": item(number, **large)} for number in range(1, 21)), *again)
    arn = begun(client, MaxWriteRequestUnits=1024)
    database.clock.advance(1)
    assert client.scan(TableName=TABLE, Select="COUNT")["Count"] < 1 + 20
    database.clock.advance(8)
    assert described(client, arn)["BulkOperationStatus"] == "IN_PROGRESS"
    database.clock.advance(3)
    assert described(client, arn)["BulkOperationStatus"] == "COMPLETED"


def test_one_that_waits_for_its_rate_can_be_cancelled(database: Database, client: Any, objects: MemoryObjects) -> None:
    database.clock.freeze()
    objects[BUCKET]["in/a"] = lines(*({"Item": item(number)} for number in range(300)))
    arn = begun(client, MaxWriteRequestUnits=1024)
    wait_until(lambda: bool(client.scan(TableName=TABLE, Limit=1)["Items"]))
    client.cancel_bulk_operation(BulkOperationArn=arn)
    assert ended(client, arn)["BulkOperationStatus"] == "CANCELLED"
    assert client.scan(TableName=TABLE, Select="COUNT")["Count"] < 300


def test_a_table_that_goes_ends_it(client: Any, objects: MemoryObjects) -> None:
    objects[BUCKET].update({"in/a": lines({"Item": item(1)}), "in/b": lines({"Item": item(2)})})
    objects.hold("in/b")
    arn = begun(client)
    wait_until(lambda: objects.holds_some)
    client.delete_table(TableName=TABLE)
    objects.release()
    told = ended(client, arn)
    assert (told["BulkOperationStatus"], told["FailureCode"]) == ("FAILED", "ResourceNotFoundException")


def test_what_is_refused(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refusal(client, TableName="nothing")[0] == "ResourceNotFoundException"
    output = {"S3Bucket": BUCKET, "OutputType": ["ERROR"], "S3SseKmsKeyId": "k"}
    assert "KMS Key Id is not supported" in refusal(client, OutputS3Configuration=output)[1]
    begun(client, ClientToken="t")
    assert refusal(client, ClientToken="t", MaxWriteRequestUnits=1024)[0] == "IdempotentParameterMismatchException"
    monkeypatch.undo()
    assert refusal(client)[0] == "UnsupportedOperationException"


def test_no_bulk_put_begins_while_an_index_is_created() -> None:
    """The guide: a table may be UPDATING, but not for a new index."""
    with server(Settings(data_dir=None, port=0, vector_index_delay_seconds=10)) as database:
        objects, client = give_objects(database), database.client()
        create(client)
        database.clock.freeze()
        client.update_table(TableName=TABLE, VectorIndexUpdates=[{"Create": vector_index()}])
        assert refusal(client)[0] == "ResourceInUseException"
        database.clock.advance(10)
        objects[BUCKET]["in/a"] = lines({"Item": item(1)})
        assert ended(client, begun(client))["BulkOperationStatus"] == "COMPLETED"


def test_lists_and_tokens(database: Database, client: Any) -> None:
    arns: list[str] = []
    for _ in range(3):
        arns.append(begun(client, ClientToken=f"t{len(arns)}"))
        ended(client, arns[-1])
        database.clock.advance(1)
    page = client.list_bulk_operations(MaxResults=2)
    rest = client.list_bulk_operations(NextToken=page["NextToken"])
    listed = page["BulkOperationsSummaryList"] + rest["BulkOperationsSummaryList"]
    assert [one["BulkOperationArn"] for one in listed] == arns[::-1]
    assert set(listed[0]) == {"BulkOperationArn", "BulkOperationStatus", "StartTime", "EndTime"}
    assert begun(client, ClientToken="t1") == arns[1]
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        client.describe_bulk_operation(BulkOperationArn=f"{ARN}/bulk-operation/01")


def test_records_that_are_read_again_after_a_failure_count_once(
    client: Any, objects: MemoryObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_work, "BATCH_ITEMS", 4)
    monkeypatch.setattr(reading, "WRITES_BETWEEN_PLACES", 3)
    monkeypatch.setattr(bulk_reports, "REPORT_BYTES", 200)
    objects.chunk_bytes = 100
    client.put_item(TableName=TABLE, Item=item(3, old={"BOOL": True}))
    records = [{"Item": item(number), **NEW} for number in range(60)]
    faulty = [{"Item": {"x": {"S": str(number)}}} for number in range(20)]
    objects[BUCKET]["in/a"] = lines(*(one for pair in zip(records, faulty * 3, strict=True) for one in pair))
    objects.fails_at = 4000
    told = ended(client, begun(client))
    assert (told["BulkOperationStatus"], told["ProcessedItemCount"], told["FailedItemCount"]) == (
        "COMPLETED_WITH_ERRORS",
        120,
        60,
    )
    assert [one["Item"] for one in report(objects, "condition-check-failure")] == [item(3)]
    assert [one["Line"] for one in report(objects, "error")] == list(range(2, 121, 2))
    assert len(client.scan(TableName=TABLE)["Items"]) == 60
    assert objects.fails_at is None
    objects.refuses = S3Failure("AccessDenied", "Access Denied", 403)
    assert ended(client, begun(client))["FailureCode"] == "S3AccessDenied"


def test_the_reports_of_one_object_are_written_while_it_is_read(
    client: Any, objects: MemoryObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All lines of an object's reports were kept in memory, and became one object: 446 MB for 6 KB of gzip."""
    monkeypatch.setattr(bulk_reports, "REPORT_BYTES", 20_000)
    objects[BUCKET]["in/a"] = b"{}\n" * 10_000
    told = ended(client, begun(client))
    assert (told["ProcessedItemCount"], told["FailedItemCount"]) == (10_000, 10_000)
    parts = [len(gzip.decompress(one)) for key, one in objects[BUCKET].items() if "/error/" in key]
    assert len(parts) > 2
    assert [one["Line"] for one in report(objects, "error")] == list(range(1, 10_001))


@pytest.mark.parametrize("between", ["", "\n"])
def test_lines_of_reports_that_are_long_together_are_kept_with_their_place(
    client: Any, objects: MemoryObjects, monkeypatch: pytest.MonkeyPatch, between: str
) -> None:
    """What was kept is not told again, nor put again, even of records that stand on one line."""
    monkeypatch.setattr(bulk_work, "NEW_LINES_BYTES", 1_000)
    monkeypatch.setattr(bulk_reports, "_DOCUMENT_BYTES", 2_500)
    monkeypatch.setattr(bulk_reports, "REPORT_BYTES", 10_000)
    kept_bytes: list[int] = []
    add = ReportLines.add

    def note(lines_of_report: ReportLines, line: bytes) -> None:
        kept_bytes.append(lines_of_report.new_bytes)
        add(lines_of_report, line)

    monkeypatch.setattr(ReportLines, "add", note)
    objects.chunk_bytes = 1_000
    client.put_item(TableName=TABLE, Item=item(3, old={"S": "x" * 500}))
    records = [{"Item": item(3 if number % 2 else number), **NEW} for number in range(100)]
    text = between.join(map(json.dumps, records)) + "\n"
    objects[BUCKET]["in/a"] = text.encode() + b"{}\n" * 1_000
    objects.fails_at = len(text) + 1_000
    told = ended(client, begun(client))
    assert objects.fails_at is None
    assert (told["ProcessedItemCount"], told["FailedItemCount"]) == (1_100, 1_000)
    assert len(report(objects, "condition-check-failure")) == 50
    assert len(report(objects, "error")) == 1_000
    assert max(kept_bytes) < 1_000


def test_documents_of_reports_go_when_their_lines_are_in_an_object(
    database: Database, client: Any, objects: MemoryObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_work, "NEW_LINES_BYTES", 1_000)
    monkeypatch.setattr(bulk_reports, "_DOCUMENT_BYTES", 2_500)
    objects[BUCKET]["in/a"] = b"{}\n" * 500
    objects.hold("/error/")
    arn = begun(client)
    wait_until(lambda: objects.holds_some)
    documents = database._process.service.store.documents
    kept = documents.below("bulk-report/")
    assert [name.rpartition("/")[2] for name, _ in kept] == [f"{number:06d}" for number in range(len(kept))]
    assert len(kept) > 2
    assert len(b"".join(text for _, text in kept).splitlines()) == 500
    objects.release()
    assert ended(client, arn)["FailedItemCount"] == 500
    assert not documents.below("bulk-report/")
    assert len(report(objects, "error")) == 500


def test_large_records_are_put_few_at_a_time(
    client: Any, objects: MemoryObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to 64 records waited decoded, whatever their size: 50 MB of memory for 400 KB of nulls."""
    large = {"l": {"L": [{"NULL": True}] * 60_000}}
    counts: list[int] = []
    write = bulk_work.BulkWork.write

    async def note(work: bulk_work.BulkWork) -> None:
        counts.append(len(work._batch))
        await write(work)

    monkeypatch.setattr(bulk_work.BulkWork, "write", note)
    objects[BUCKET]["in/a"] = lines(*({"Item": item(number, **large)} for number in range(10)))
    told = ended(client, begun(client))
    assert (told["BulkOperationStatus"], told["ProcessedItemCount"]) == ("COMPLETED", 10)
    assert max(counts) == 2
    assert client.get_item(TableName=TABLE, Key={"id": {"S": "9"}})["Item"] == item(9, **large)


def test_a_record_with_half_a_character_is_one_error(client: Any, objects: MemoryObjects) -> None:
    """No report can tell its text: the bulk put failed inside, and began again and again."""
    objects[BUCKET]["in/a"] = (
        b'{"Item":{"id":{"S":"\\ud800"}}}\n{"Item":{"id":{"S":"1"},"\\ud800":{"S":"1"}}}\n' + lines({"Item": item(2)})
    )
    told = ended(client, begun(client))
    assert (told["ProcessedItemCount"], told["FailedItemCount"]) == (3, 2)
    assert [(one["Line"], "Item" in one) for one in report(objects, "error")] == [(1, False), (2, False)]
