"""What lists transfers, and what carries those in progress: the admin API, `hashrange inspect`, forks, snapshots,
restores, resets.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from hashrange.cli.main import DONE, main
from hashrange.settings import Settings
from hashrange.testing import Database, server
from tests.support.kills import copy_as_killed
from tests.support.memory_objects import MemoryObjects
from tests.support.waiting import wait_until
from tests.unit.transfers.transferred import ACCOUNT, ARN, BUCKET, REGION, TABLE, create, give_objects, switch_on

COPY = "copy"
LINES = b"".join(json.dumps({"Item": {"id": {"S": str(number)}}}).encode() + b"\n" for number in range(20))
FAULTY = b'{"Item":{}}\n'


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with server(Settings(data_dir=str(tmp_path / "data"), port=0, admin=True)) as opened:
        yield opened


@pytest.fixture
def begun(client: Any, database: Database, objects: MemoryObjects) -> MemoryObjects:
    """An S3 with which an export, an import and a bulk put are in the middle."""
    create(client)
    switch_on(database)
    client.put_item(TableName=TABLE, Item={"id": {"S": "a"}})
    client.export_table_to_point_in_time(TableArn=ARN, S3Bucket="nowhere")
    database.clock.advance(1)
    objects[BUCKET].update({"in/1": LINES + FAULTY, "in/2": LINES})
    objects.hold("in/2")
    client.import_table(
        S3BucketSource={"S3Bucket": BUCKET, "S3KeyPrefix": "in/"},
        InputFormat="DYNAMODB_JSON",
        TableCreationParameters={
            "TableName": COPY,
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
        },
    )
    client.start_bulk_put_items(
        TableName=TABLE,
        InputS3Configuration={"S3Bucket": BUCKET, "S3KeyPrefix": "in/", "InputFormat": "DYNAMODB_JSON"},
        OutputS3Configuration={"S3Bucket": BUCKET, "OutputType": ["ERROR"]},
    )
    wait_until(lambda: objects.held == 2)
    objects.hold("/")
    client.export_table_to_point_in_time(TableArn=ARN, S3Bucket=BUCKET, S3Prefix="out")
    wait_until(lambda: objects.held == 3)
    return objects


def told(database: Database) -> dict[str, list[dict[str, Any]]]:
    """What the admin API lists."""
    with urlopen(f"{database.endpoint}/_hashrange/v1/transfers") as reply:
        found: dict[str, list[dict[str, Any]]] = json.load(reply)
        return found


def states(database: Database) -> list[str]:
    """The states of the export, the import and the bulk put."""
    found = told(database)
    return [found[kind][-1]["status"] for kind in ("exports", "imports", "bulk_puts")]


IN_PROGRESS = ["IN_PROGRESS"] * 3
ENDED = ["COMPLETED", "FAILED", "COMPLETED_WITH_ERRORS"]


def test_the_admin_api_lists_them(database: Database, begun: MemoryObjects) -> None:
    found = told(database)
    failed, export = found["exports"]
    assert (failed["status"], failed["failure_code"], failed["bucket"]) == ("FAILED", "S3NoSuchBucket", "nowhere")
    assert export["arn"].startswith(f"{ARN}/export/")
    assert (export["status"], export["bucket"], export["prefix"]) == ("IN_PROGRESS", BUCKET, "out")
    assert (export["table"], export["items"], "ended_at" in export) == (TABLE, 0, False)
    (imported,), (bulk_put,) = found["imports"], found["bulk_puts"]
    assert (imported["table"], imported["status"], imported["items"], imported["errors"]) == (
        COPY,
        "IN_PROGRESS",
        20,
        1,
    )
    assert (bulk_put["items"], bulk_put["errors"], bulk_put["refused"]) == (20, 1, 0)
    assert (bulk_put["bytes"], bulk_put["bytes_total"]) == (len(LINES + FAULTY), len(LINES + FAULTY + LINES))
    begun.release()
    wait_until(lambda: states(database) == ENDED)
    assert told(database)["exports"][-1]["items"] == 1 + 20
    assert told(database)["imports"][-1]["failure_code"] == "ItemValidationError"
    assert told(database)["bulk_puts"][-1]["ended_at"] >= bulk_put["started_at"]


@pytest.mark.usefixtures("begun")
def test_inspect_lists_them(database: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy_as_killed(tmp_path / "data", tmp_path / "copy")
    assert main(["inspect", str(tmp_path / "copy")]) == DONE
    tables = [[line.split() for line in part.splitlines()] for part in capsys.readouterr().out.split("\n\n")]
    ids = {kind: [one["arn"].rpartition("/")[2] for one in found] for kind, found in told(database).items()}
    place = [ACCOUNT, REGION]
    assert tables[-3:] == [
        [
            ["export", "of", "account", "Region", "id", "status", "items"],
            [TABLE, *place, ids["exports"][0], "FAILED", "(S3NoSuchBucket)", "0"],
            [TABLE, *place, ids["exports"][1], "IN_PROGRESS", "0"],
        ],
        [
            ["import", "into", "account", "Region", "id", "status", "items", "errors", "bytes"],
            [COPY, *place, ids["imports"][0], "IN_PROGRESS", "20", "1", str(len(LINES + FAULTY))],
        ],
        [
            ["bulk", "put", "into", "account", "Region", "id", "status", "items", "errors", "refused", "bytes"],
            [TABLE, *place, ids["bulk_puts"][0], "IN_PROGRESS", "20", "1", "0", str(len(LINES + FAULTY))],
        ],
    ]
    assert main(["inspect", str(tmp_path / "copy"), "--table", TABLE]) == DONE
    assert "import into" not in capsys.readouterr().out


def samples_of(database: Database, name: str) -> dict[tuple[str, str], float]:
    """Kind and status → value of the samples of a metric for Prometheus."""
    with urlopen(f"{database.endpoint}/metrics") as reply:
        families = text_string_to_metric_families(reply.read().decode())
        return {
            (one.labels["kind"], one.labels["status"]): one.value
            for family in families
            for one in family.samples
            if one.name == name
        }


def test_prometheus_counts_them(database: Database, begun: MemoryObjects) -> None:
    assert samples_of(database, "hashrange_transfers") == {
        ("export", "FAILED"): 1,
        ("export", "IN_PROGRESS"): 1,
        ("import", "IN_PROGRESS"): 1,
        ("bulk_put", "IN_PROGRESS"): 1,
    }
    begun.release()
    wait_until(lambda: states(database) == ENDED)
    assert samples_of(database, "hashrange_transfers") == {
        ("export", "FAILED"): 1,
        ("export", "COMPLETED"): 1,
        ("import", "FAILED"): 1,
        ("bulk_put", "COMPLETED_WITH_ERRORS"): 1,
    }
    database.reset()
    assert samples_of(database, "hashrange_transfers") == {}


def same(objects: MemoryObjects) -> MemoryObjects:
    """The same buckets, without what is held."""
    found = MemoryObjects()
    found.buckets = {name: dict(content) for name, content in objects.buckets.items()}
    return found


def test_a_fork_goes_on_with_them(database: Database, begun: MemoryObjects) -> None:
    with database.fork() as fork:
        assert states(fork) == IN_PROGRESS
        of_fork = give_objects(fork, same(begun))
        wait_until(lambda: states(fork) == ENDED)
        assert fork.client().scan(TableName=COPY, Select="COUNT")["Count"] == 20
        assert [key for key in of_fork[BUCKET] if key.endswith("manifest-summary.json")]
        assert states(database) == IN_PROGRESS
    begun.release()
    wait_until(lambda: states(database) == ENDED)


def test_a_snapshot_has_them(database: Database, client: Any, begun: MemoryObjects) -> None:
    snapshot = database.snapshot()
    begun.release()
    wait_until(lambda: states(database) == ENDED)
    first = {key: content for key, content in begun[BUCKET].items() if "/data/" in key}
    client.put_item(TableName=TABLE, Item={"id": {"S": "later"}})
    begun.hold("/")
    database.restore(snapshot)
    assert states(database) == IN_PROGRESS
    begun.release()
    wait_until(lambda: states(database) == ENDED)
    assert {key: content for key, content in begun[BUCKET].items() if "/data/" in key} == first
    assert client.scan(TableName=TABLE, Select="COUNT")["Count"] == 1 + 20


def test_a_reset_drops_them(database: Database, begun: MemoryObjects) -> None:
    database.reset()
    assert told(database) == {"exports": [], "imports": [], "bulk_puts": []}
    begun.release()
    assert not [key for key in begun[BUCKET] if "manifest" in key]
