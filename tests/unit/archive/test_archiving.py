"""Items that expire become objects and come back: a server with functions, S3 and DynamoDB at one endpoint, and the
command against it. The trigger is declared in a file, or a zip as it is uploaded to AWS.
"""

import io
import json
import random
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hashrange.archive
from hashrange.cli.archived_items import comparable, sdk_value
from hashrange.cli.main import DONE, main
from tests.support.function_servers import FunctionServer
from tests.support.waiting import PATIENCE_SECONDS, wait_until
from tests.unit.cli.test_unarchive import a_random_value

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the processes of functions need Unix")

BUCKET = "old"
TRIGGERS = f"""
[functions.archive]
code = "hashrange.archive.trigger:handler"
timeout = 60
environment = {{ ARCHIVE_BUCKET = "{BUCKET}", ARCHIVE_STORAGE_CLASS = "GLACIER" }}

[[mapping]]
table = "orders"
function = "archive"
report_batch_item_failures = true
"""
Printed = pytest.CaptureFixture[str]


class Archiving(FunctionServer):
    """A server that archives what expires in the table `orders`."""

    def __init__(self, folder: Path) -> None:
        (folder / "s3").mkdir()
        (folder / "triggers.toml").write_text(TRIGGERS)
        super().__init__(folder, "--triggers", str(folder / "triggers.toml"), "--s3-folder", str(folder / "s3"))
        self.s3, self.dynamodb = self.client("s3"), self.client("dynamodb")

    def make_expiring_table(self, name: str) -> str:
        """Create a table whose items expire; returns its stream's ARN."""
        arn = self.make_table(name)
        self.dynamodb.update_time_to_live(
            TableName=name, TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"}
        )
        return arn

    def put_expiring(self, table: str, *items: dict[str, Any]) -> None:
        """Put items that expire in an hour."""
        now = self.administer("info", method="GET")["service_time"]
        for item in items:
            self.dynamodb.put_item(TableName=table, Item={**item, "expires": {"N": str(int(now) + 3600)}})

    def let_expire(self) -> None:
        """Move the time until all has expired, and all records are delivered."""
        self.administer("clock/advance", {"seconds": 3700})

    def archived(self, prefix: str = "archive/", bucket: str = BUCKET) -> dict[str, Any]:
        """Key of each object → its item without the time of expiry."""
        listed = self.s3.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", [])
        contents = {each["Key"]: self.s3.get_object(Bucket=bucket, Key=each["Key"])["Body"].read() for each in listed}
        return {key: comparable(sdk_item(json.loads(text)["item"]), "expires") for key, text in contents.items()}

    def items(self, table: str) -> list[Any]:
        """The items of a table, so that they can be compared."""
        found = self.dynamodb.scan(TableName=table)["Items"]
        return sorted((comparable(item, None) for item in found), key=str)


def sdk_item(item: dict[str, Any]) -> dict[str, Any]:
    return {name: sdk_value(value) for name, value in item.items()}


@pytest.fixture(scope="module")
def archiving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Archiving]:
    server = Archiving(tmp_path_factory.mktemp("archiving"))
    server.make_expiring_table("orders")
    yield server
    server.stop()


def an_order(key: str, **members: Any) -> dict[str, Any]:
    return {"pk": {"S": key}, "Type": {"S": "Order"}, **members}


def test_what_expires_comes_back_equal(archiving: Archiving, capsys: Printed) -> None:
    """The bucket is missing at first: the records are delivered again. The command is killed while it writes."""
    rng = random.Random(53)
    items = [
        sdk_item(an_order(f"../{number}", value=a_random_value(rng), more=a_random_value(rng))) for number in range(20)
    ]
    archiving.put_expiring("orders", *items)
    kept, deleted = an_order("kept"), an_order("deleted")
    archiving.dynamodb.put_item(TableName="orders", Item=kept)
    archiving.put_expiring("orders", deleted)
    archiving.dynamodb.delete_item(TableName="orders", Key={"pk": deleted["pk"]})
    archiving.let_expire()
    assert archiving.items("orders") == [kept_item := comparable(kept, None)]
    assert " is not archived: An error occurred (NoSuchBucket)" in archiving.log()
    assert "of 20 deleted items are not archived" not in archiving.log(), "the mapping hears of each record"
    archiving.s3.create_bucket(Bucket=BUCKET)
    archiving.let_expire()
    found = archiving.archived()
    assert found == {f"archive/Order/%2E.%2F{place}.json": comparable(item, None) for place, item in enumerate(items)}
    head = archiving.s3.head_object(Bucket=BUCKET, Key="archive/Order/%2E.%2F0.json")
    assert head["StorageClass"] == "GLACIER"

    command = ["unarchive", BUCKET, "orders", "--endpoint", archiving.endpoint]
    assert main(command) == DONE
    assert "20 objects new" in capsys.readouterr().out
    writing = [*command, "--write", "--remove-ttl"]
    killed = subprocess.Popen([sys.executable, "-m", "hashrange", *writing], stdout=subprocess.DEVNULL)
    wait_until(lambda: len(archiving.items("orders")) > 1)
    killed.kill()
    killed.wait(PATIENCE_SECONDS)
    left = len(items) + 1 - len(archiving.items("orders"))
    assert main(writing) == DONE
    assert (f"{left} object{'s' if left > 1 else ''} written" in capsys.readouterr().out) == (left > 0)
    assert archiving.items("orders") == sorted([kept_item, *found.values()], key=str)

    again = an_order("../0", again={"BOOL": True})
    archiving.put_expiring("orders", again)
    archiving.let_expire()
    assert archiving.archived()["archive/Order/%2E.%2F0.json"] == comparable(again, None)
    assert "is replaced by the version deleted at" in archiving.log()


def zip_for_lambda() -> bytes:
    """The zip that docs/archive.md describes: the package and nothing else."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as zipped:
        for path in Path(hashrange.archive.__path__[0]).glob("*.py"):
            zipped.write(path, f"hashrange/archive/{path.name}")
    return buffer.getvalue()


def test_a_zip_loses_nothing_where_its_mapping_does_not_hear_of_single_failures(archiving: Archiving) -> None:
    """The bucket is missing at first: the whole batch fails and is delivered again."""
    name = "zipped"
    stream = archiving.make_expiring_table(name)
    archiving.create(
        name,
        "",
        Code={"ZipFile": zip_for_lambda()},
        Handler="hashrange.archive.trigger.handler",
        Environment={"Variables": {"ARCHIVE_BUCKET": name, "ARCHIVE_PREFIX": "x/", "ARCHIVE_TYPE_ATTRIBUTE": "no"}},
    )
    archiving.map(name, stream)
    orders = [an_order(str(number)) for number in range(3)]
    archiving.put_expiring(name, *orders)
    archiving.let_expire()
    assert archiving.items(name) == []
    assert "ArchiveFailure: 3 of 3 deleted items are not archived" in archiving.log()
    archiving.s3.create_bucket(Bucket=name)
    archiving.let_expire()
    expected = {f"x/{name}/{number}.json": comparable(order, None) for number, order in enumerate(orders)}
    assert archiving.archived("x/", name) == expected
