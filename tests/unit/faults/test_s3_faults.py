"""An S3 that fails on purpose: what exports, imports and bulk puts ask of it, and requests to the server's own."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from hashrange.faults.fault import Fault, FaultsError
from hashrange.settings import Settings
from hashrange.store.row_copies import row_copies_of
from hashrange.testing import server
from hashrange.testing.database import Database, Snapshot
from tests.support.waiting import wait_until
from tests.unit.faults.kit import ARN, ONCE, impatient, make_music, put_songs, song, songs

BUCKET = "bucket"
KEYS = [f"{number:02}" for number in range(40)]
FOLDER_FULL = "The folder of S3 has no room left: No space left on device"
SUMMARY = "manifest-summary.json"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("s3")
    (path / BUCKET).mkdir()
    return path


@pytest.fixture(scope="module")
def shared(folder: Path) -> Iterator[tuple[Database, Snapshot]]:
    with server(Settings(data_dir=None, port=0, s3_folder=str(folder))) as database:
        client = impatient(database)
        make_music(client)
        put_songs(client, *KEYS)
        client.update_continuous_backups(
            TableName="music", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
        )
        yield database, database.snapshot()


@pytest.fixture
def database(shared: tuple[Database, Snapshot]) -> Database:
    """A database with a table that can be exported, and without faults."""
    database, snapshot = shared
    database.restore(snapshot)
    return database


_numbers = count()


@pytest.fixture
def prefix() -> str:
    """A prefix of keys that no other test uses."""
    return f"test-{next(_numbers)}"


def exported(database: Database, prefix: str) -> dict[str, Any]:
    """The description of an export that has ended."""
    client = impatient(database)
    begun = client.export_table_to_point_in_time(TableArn=ARN, S3Bucket=BUCKET, S3Prefix=prefix)["ExportDescription"]

    def described() -> dict[str, Any]:
        found: dict[str, Any] = client.describe_export(ExportArn=begun["ExportArn"])["ExportDescription"]
        return found

    wait_until(lambda: described()["ExportStatus"] != "IN_PROGRESS")
    return described()


def imported(database: Database, prefix: str) -> dict[str, Any]:
    """The description of an import of what an export has written, which has ended."""
    client = impatient(database)
    begun = client.import_table(
        S3BucketSource={"S3Bucket": BUCKET, "S3KeyPrefix": prefix},
        InputFormat="DYNAMODB_JSON",
        InputCompressionType="GZIP",
        TableCreationParameters={
            "TableName": "copy",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
        },
    )["ImportTableDescription"]

    def described() -> dict[str, Any]:
        found: dict[str, Any] = client.describe_import(ImportArn=begun["ImportArn"])["ImportTableDescription"]
        return found

    wait_until(lambda: described()["ImportStatus"] != "IN_PROGRESS")
    return described()


def data_of(told: dict[str, Any]) -> str:
    """The prefix of the data files of an export."""
    return str(told["ExportManifest"]).removesuffix(SUMMARY) + "data/"


def files_in(folder: Path, prefix: str) -> list[Path]:
    return [path for path in (folder / BUCKET / prefix).rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    "fault",
    [
        Fault("throttle", operation="PutObject", count=3),
        Fault("error", operation="PutObject", count=3),
        Fault("error", operation="PutObject", code="ServiceUnavailable", count=3),
        Fault("error", operation="PutObject", when="after", count=3),
        Fault("drop", operation="PutObject", count=3),
        Fault("drop", operation="PutObject", when="after", count=3),
        Fault("half-reply", operation="PutObject", count=3),
        Fault("slow", operation="PutObject", seconds=0.001),
        Fault("error", operation="PutObject", table="other", code="AccessDenied"),
    ],
    ids=lambda fault: f"{fault.kind} {fault.when}",
)
def test_an_export_goes_on_after_what_a_client_tries_again(database: Database, prefix: str, fault: Fault) -> None:
    database.faults.use(fault)
    told = exported(database, prefix)
    assert (told["ExportStatus"], told["ItemCount"]) == ("COMPLETED", len(KEYS))
    assert {one.operation for one in database.faults.report} <= {"PutObject"}
    assert len(database.faults.report) == (0 if fault.table else 6 if fault.kind == "slow" else 3)
    assert all(one.table == "music" for one in database.faults.report)
    database.faults.clear()
    assert imported(database, data_of(told))["ImportStatus"] == "COMPLETED"
    assert songs(database, "copy") == set(KEYS)


@pytest.mark.parametrize(
    ("fault", "code", "message"),
    [
        (Fault("throttle", operation="PutObject"), "S3SlowDown", "Please reduce your request rate."),
        (Fault("throttle", operation="PutObject", skip=3, count=4), "S3SlowDown", "Please reduce your request rate."),
        (Fault("error", operation="PutObject", code="AccessDenied", count=1), "S3AccessDenied", "Access Denied"),
        (
            Fault("error", operation="PutObject", code="NoSuchBucket", skip=1, count=1),
            "S3NoSuchBucket",
            "The specified bucket does not exist",
        ),
        (Fault("drop", operation="PutObject"), "S3ServiceUnavailable", "The connection to S3 was closed."),
        (Fault("no-room", count=1), "S3InternalError", FOLDER_FULL),
        (Fault("no-room", operation="PutObject", table="music", skip=1), "S3InternalError", FOLDER_FULL),
    ],
    ids=lambda one: f"{one.kind} {one.skip}" if isinstance(one, Fault) else "",
)
def test_an_export_fails_with_what_s3_says(
    database: Database, folder: Path, prefix: str, fault: Fault, code: str, message: str
) -> None:
    database.faults.use(fault)
    told = exported(database, prefix)
    assert (told["ExportStatus"], told["FailureCode"], told["FailureMessage"]) == ("FAILED", code, message)
    assert not row_copies_of(database._process.service.store).owners()
    assert not [path for path in files_in(folder, prefix) if path.name == SUMMARY]
    wait_until(lambda: not list((folder / ".hashrange" / "receiving").iterdir()))
    again = exported(database, prefix) if fault.count else None
    assert again is None or again["ExportStatus"] == "COMPLETED"


@pytest.mark.parametrize(
    "fault",
    [
        Fault("half-reply", operation="GetObject", count=5),
        Fault("half-reply", operation="ListObjectsV2", count=3),
        Fault("throttle", operation=("GetObject", "ListObjectsV2"), count=3),
        Fault("drop", operation="GetObject", when="after", count=3),
        Fault("error", operation="ListObjectsV2", when="after", count=3),
    ],
    ids=lambda fault: f"{fault.kind} {fault.operation}",
)
def test_an_import_goes_on_where_a_body_was_cut(database: Database, prefix: str, fault: Fault) -> None:
    told = exported(database, prefix)
    database.faults.use(fault)
    described = imported(database, data_of(told))
    assert (described["ImportStatus"], described["ImportedItemCount"]) == ("COMPLETED", len(KEYS))
    assert len(database.faults.report) == fault.count
    assert songs(database, "copy") == set(KEYS)


def test_an_import_that_gets_no_more_fails(database: Database, prefix: str) -> None:
    data = data_of(exported(database, prefix))
    database.faults.use(Fault("half-reply", operation="GetObject"))
    told = imported(database, data)
    assert (told["ImportStatus"], told["FailureCode"]) == ("FAILED", "S3ServiceUnavailable")
    assert len(songs(database, "copy")) == told["ImportedItemCount"] <= len(KEYS), "the table stays if it has items"
    impatient(database).delete_table(TableName="copy")
    database.faults.use(Fault("error", operation="GetObject", code="AccessDenied"))
    told = imported(database, data)
    assert (told["ImportStatus"], told["FailureCode"]) == ("FAILED", "S3AccessDenied")
    assert impatient(database).list_tables()["TableNames"] == ["music"]
    database.faults.clear()
    assert imported(database, data)["ImportStatus"] == "COMPLETED"


def test_a_bulk_put_reports_what_it_has_read_before_s3_failed(database: Database, folder: Path, prefix: str) -> None:
    (folder / BUCKET / prefix / "in").mkdir(parents=True)
    (folder / BUCKET / prefix / "in" / "1").write_bytes(b'{"Item":{}}\n')
    (folder / BUCKET / prefix / "in" / "2").write_bytes(b'{"Item":{"pk":{"S":"more"}}}\n')
    database.faults.use(Fault("error", operation="GetObject", code="AccessDenied", skip=1))
    client = impatient(database)
    arn = client.start_bulk_put_items(
        TableName="music",
        InputS3Configuration={"S3Bucket": BUCKET, "S3KeyPrefix": f"{prefix}/in/", "InputFormat": "DYNAMODB_JSON"},
        OutputS3Configuration={"S3Bucket": BUCKET, "S3KeyPrefix": f"{prefix}/out", "OutputType": ["ERROR"]},
    )["BulkOperationDescription"]["BulkOperationArn"]

    def described() -> dict[str, Any]:
        found: dict[str, Any] = client.describe_bulk_operation(BulkOperationArn=arn)["BulkOperationDescription"]
        return found

    wait_until(lambda: described()["BulkOperationStatus"] != "IN_PROGRESS")
    assert (described()["FailureCode"], described()["FailedItemCount"]) == ("S3AccessDenied", 1)
    assert len(files_in(folder, f"{prefix}/out")) == 1
    assert songs(database) == set(KEYS)


def test_the_same_seed_meets_the_same_faults(database: Database) -> None:
    met: dict[int, list[list[tuple[int, str]]]] = {}
    for seed in (1, 1, 2, 2):
        prefix = f"seed-{next(_numbers)}"
        database.faults.use(
            Fault("throttle", operation="PutObject", share=0.4),
            Fault("drop", operation="PutObject", share=0.2),
            seed=seed,
        )
        exported(database, prefix)
        met.setdefault(seed, []).append([(one.fault, one.operation) for one in database.faults.report])
    assert met[1][0] == met[1][1] != met[2][0] == met[2][1]


# --- requests to the server's own S3 --------------------------------------------------------------


def s3(database: Database) -> Any:
    """A client of the server's own S3 that does not retry."""
    return boto3.client(
        "s3",
        endpoint_url=database.endpoint,
        region_name="us-east-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
        config=ONCE.merge(Config(s3={"addressing_style": "path"})),
    )


@pytest.mark.parametrize(
    ("fault", "code", "status"),
    [
        (Fault("error", operation="PutObject", code="AccessDenied"), "AccessDenied", 403),
        (Fault("error", operation="PutObject", code="ServiceUnavailable"), "ServiceUnavailable", 503),
        (Fault("error", operation="PutObject", code="NoSuchBucket", when="after"), "NoSuchBucket", 404),
        (Fault("error", operation="PutObject"), "InternalError", 500),
        (Fault("no-room"), "InternalError", 500),
    ],
    ids=lambda one: f"{one.kind} {one.code}" if isinstance(one, Fault) else "",
)
def test_requests_get_the_same_errors(
    database: Database, folder: Path, prefix: str, fault: Fault, code: str, status: int
) -> None:
    client = s3(database)
    database.faults.use(fault)
    with pytest.raises(ClientError) as refused:
        client.put_object(Bucket=BUCKET, Key=f"{prefix}/a", Body=b"x" * 1000)
    assert refused.value.response["Error"]["Code"] == code
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == status
    if fault.kind == "no-room":
        assert refused.value.response["Error"]["Message"] == FOLDER_FULL
    database.faults.clear()
    listed = client.list_objects_v2(Bucket=BUCKET, Prefix=f"{prefix}/").get("Contents", [])
    assert len(listed) == (fault.when == "after")
    wait_until(lambda: not list((folder / ".hashrange" / "receiving").iterdir()))


def test_a_fault_for_a_table_is_not_met_by_requests(database: Database, prefix: str) -> None:
    database.faults.use(Fault("error", operation="PutObject", code="AccessDenied", table="music"))
    s3(database).put_object(Bucket=BUCKET, Key=f"{prefix}/a", Body=b"x")
    assert exported(database, prefix)["FailureCode"] == "S3AccessDenied"


# --- faults that cannot be met --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (
            Fault("error", operation="PutItem", code="AccessDenied"),
            "the member code is for operations of the server's S3",
        ),
        (Fault("error", code="AccessDenied"), "the member code is for operations of the server's S3"),
        (
            Fault("error", operation=("PutObject", "PutItem"), code="AccessDenied"),
            "the member code is for operations of the server's S3",
        ),
        (Fault("no-room", operation="GetObject"), "there may be no room are PutObject and UploadPart."),
        (Fault("no-room", operation="PutItem"), "there may be no room are PutObject and UploadPart."),
        (Fault("throttle", operation="HeadObject", table="music"), "without the members table, index, key,"),
        (Fault("throttle", operation="PutObjects"), "there is no operation PutObjects."),
    ],
)
def test_what_cannot_be_met_is_refused(database: Database, fault: Fault, said: str) -> None:
    with pytest.raises(FaultsError) as refused:
        database.faults.use(fault)
    assert said in str(refused.value)


def test_without_a_folder_transfers_alone_meet_them() -> None:
    with server(Settings(data_dir=None, s3_endpoint="http://127.0.0.1:9")) as database:
        make_music(impatient(database))
        impatient(database).put_item(TableName="music", Item=song("a"))
        impatient(database).update_continuous_backups(
            TableName="music", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
        )
        with pytest.raises(FaultsError, match="there is no operation HeadObject"):
            database.faults.use(Fault("throttle", operation="HeadObject"))
        database.faults.use(Fault("error", operation="PutObject", code="AccessDenied"))
        assert exported(database, "")["FailureCode"] == "S3AccessDenied"


def test_without_an_s3_there_are_no_operations_of_it() -> None:
    with server(Settings(data_dir=None)) as database, pytest.raises(FaultsError, match="no operation PutObject"):
        database.faults.use(Fault("throttle", operation="PutObject"))
