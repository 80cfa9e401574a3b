"""Imports and bulk puts from exports that were damaged: nothing that is damaged passes as whole, and what is whole
comes.

A flip in gzip is noticed at the latest by the checksum at the object's end. Flips in plain text may make other text,
which nobody can notice, so only compressed objects are flipped.
"""

import gzip
import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from backports import zstd

from hashrange.testing.database import Database
from hashrange.transfers import export_work
from tests.support.memory_objects import MemoryObjects
from tests.support.waiting import wait_until
from tests.unit.transfers.transferred import BUCKET, TABLE, create, exported, switch_on

COUNT = 60
SEEDS = range(3)


@pytest.fixture
def data_keys(database: Database, client: Any, objects: MemoryObjects, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys of an export's data files, of which there are several."""
    monkeypatch.setattr(export_work, "READ_BYTES", 1000)
    monkeypatch.setattr(export_work, "FILE_BYTES", 3000)
    create(client)
    switch_on(database)
    rng = random.Random(5)
    for number in range(COUNT):
        client.put_item(TableName=TABLE, Item={"id": {"S": str(number)}, "text": {"S": rng.randbytes(50).hex()}})
    exported(client)
    found = sorted(key for key in objects[BUCKET] if "/data/" in key)
    assert len(found) > 2
    return found


def import_of(keys: list[str], name: str, compression: str = "GZIP") -> dict[str, Any]:
    """The request that imports what lies beside these objects."""
    return {
        "S3BucketSource": {"S3Bucket": BUCKET, "S3KeyPrefix": keys[0].rpartition("/")[0] + "/"},
        "InputFormat": "DYNAMODB_JSON",
        "InputCompressionType": compression,
        "TableCreationParameters": {
            "TableName": name,
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
        },
    }


def ended(client: Any, arn: str) -> dict[str, Any]:
    """The description of an import once it has ended."""

    def described() -> dict[str, Any]:
        found: dict[str, Any] = client.describe_import(ImportArn=arn)["ImportTableDescription"]
        return found

    wait_until(lambda: described()["ImportStatus"] != "IN_PROGRESS")
    return described()


def imported(client: Any, keys: list[str], name: str, compression: str = "GZIP") -> dict[str, Any]:
    """The description of a new import once it has ended."""
    return ended(
        client, client.import_table(**import_of(keys, name, compression))["ImportTableDescription"]["ImportArn"]
    )


def items_of(client: Any, name: str) -> dict[str, Any]:
    """All items of a table by their ids."""
    return {item["id"]["S"]: item for item in client.scan(TableName=name)["Items"]}


def ids_in(content: bytes) -> set[str]:
    """The ids of the items in a data file."""
    return {json.loads(line)["Item"]["id"]["S"] for line in gzip.decompress(content).splitlines()}


def cut(content: bytes, rng: random.Random) -> bytes:
    """Only the beginning."""
    return content[: rng.randrange(1, len(content))]


def flipped(content: bytes, rng: random.Random) -> bytes:
    """Every n-th byte is another."""
    step = rng.choice([7, 50, 211])
    start = rng.randrange(step)
    return bytes(
        byte ^ (rng.randrange(1, 256) if place % step == start else 0) for place, byte in enumerate(content)
    )  # fmt: skip


def holed(content: bytes, rng: random.Random) -> bytes:
    """A piece is missing."""
    start = rng.randrange(len(content) - 20)
    return content[:start] + content[start + 20 :]


def grown(content: bytes, rng: random.Random) -> bytes:
    """Something that is no gzip follows."""
    return content + rng.randbytes(30)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("damage", [cut, flipped, holed, grown])
def test_a_damaged_file_fails_the_import_and_all_others_come(
    client: Any,
    objects: MemoryObjects,
    data_keys: list[str],
    damage: Callable[[bytes, random.Random], bytes],
    seed: int,
) -> None:
    rng = random.Random(seed)
    objects.chunk_bytes = rng.choice([7, 100, 100_000])
    before = dict(objects[BUCKET])
    damaged = rng.choice(data_keys)
    objects[BUCKET][damaged] = damage(before[damaged], rng)
    told = imported(client, data_keys, "damaged")
    assert (told["ImportStatus"], told["FailureCode"]) == ("FAILED", "ItemValidationError")
    assert told["ErrorCount"] >= 1
    assert told["ProcessedItemCount"] == told["ImportedItemCount"] + told["ErrorCount"]
    found, whole = items_of(client, "damaged"), items_of(client, TABLE)
    others = set().union(*(ids_in(before[key]) for key in data_keys if key != damaged))
    assert {name: found[name] for name in others} == {name: whole[name] for name in others}
    objects[BUCKET].update(before)
    again = imported(client, data_keys, "mended")
    assert (again["ImportStatus"], items_of(client, "mended")) == ("COMPLETED", whole)


PACKS: dict[str, Callable[[bytes], bytes]] = {"NONE": bytes, "GZIP": gzip.compress, "ZSTD": zstd.compress}


@pytest.mark.parametrize("said", PACKS)
@pytest.mark.parametrize("packed", PACKS)
def test_a_file_of_another_compression_is_an_error(
    client: Any, objects: MemoryObjects, data_keys: list[str], said: str, packed: str
) -> None:
    for number, key in enumerate(data_keys):
        text = gzip.decompress(objects[BUCKET][key])
        objects[BUCKET][key] = PACKS[packed if number == 1 else said](text)
    told = imported(client, data_keys, "copy", said)
    assert (told["ImportStatus"], told["ErrorCount"]) == (("COMPLETED", 0) if said == packed else ("FAILED", 1))
    assert (told["ImportedItemCount"] == COUNT) == (said == packed)


@pytest.mark.parametrize(("change", "code"), [("deleted", "S3NoSuchKey"), ("replaced", "S3PreconditionFailed")])
def test_a_file_that_goes_while_others_are_read_fails_the_import(
    client: Any, objects: MemoryObjects, data_keys: list[str], change: str, code: str
) -> None:
    """Its list had the file, so the import is not whole; what it has read stays."""
    before = dict(objects[BUCKET])
    objects.hold(data_keys[0])
    arn = client.import_table(**import_of(data_keys, "halved"))["ImportTableDescription"]["ImportArn"]
    wait_until(lambda: objects.holds_some)
    if change == "deleted":
        del objects[BUCKET][data_keys[-1]]
    else:
        objects[BUCKET][data_keys[-1]] = before[data_keys[0]]
    objects.release()
    told = ended(client, arn)
    assert (told["ImportStatus"], told["FailureCode"]) == ("FAILED", code)
    assert set(items_of(client, "halved")) == set().union(*(ids_in(before[key]) for key in data_keys[:-1]))


def bulk_put(client: Any, prefix: str, compression: str) -> dict[str, Any]:
    """The description of a bulk put into a new table, once it has ended."""
    create(client, "other")
    source = {"S3Bucket": BUCKET, "S3KeyPrefix": prefix, "InputFormat": "DYNAMODB_JSON"}
    arn = client.start_bulk_put_items(
        TableName="other",
        InputS3Configuration=source | {"InputCompressionType": compression},
        OutputS3Configuration={"S3Bucket": BUCKET, "S3KeyPrefix": "reports", "OutputType": ["ERROR"]},
    )["BulkOperationDescription"]["BulkOperationArn"]

    def described() -> dict[str, Any]:
        found: dict[str, Any] = client.describe_bulk_operation(BulkOperationArn=arn)["BulkOperationDescription"]
        return found

    wait_until(lambda: described()["BulkOperationStatus"] != "IN_PROGRESS")
    return described()


def errors_reported(objects: MemoryObjects) -> list[dict[str, Any]]:
    """The lines of the report of errors."""
    reports = [gzip.decompress(content) for key, content in objects[BUCKET].items() if "/error/" in key]
    return [json.loads(line) for line in b"".join(reports).splitlines()]


def test_a_bulk_put_reports_a_damaged_file(client: Any, objects: MemoryObjects, data_keys: list[str]) -> None:
    damaged = data_keys[1]
    lost = ids_in(objects[BUCKET][damaged])
    objects[BUCKET][damaged] = flipped(objects[BUCKET][damaged], random.Random(1))
    told = bulk_put(client, damaged.rpartition("/")[0] + "/", "GZIP")
    assert told["BulkOperationStatus"] == "COMPLETED_WITH_ERRORS"
    assert set(items_of(client, TABLE)) - set(items_of(client, "other")) <= lost
    assert {one["ObjectKey"] for one in errors_reported(objects)} == {damaged}


def test_half_of_a_surrogate_pair_is_an_error_that_is_reported(client: Any, objects: MemoryObjects) -> None:
    half, whole = b'{"Item":{"id":{"S":"\\ud800"}}}', b'{"Item":{"id":{"S":"\\ud83d\\ude00"}}}'
    objects[BUCKET]["half/1"] = b"\n".join((half, whole))
    told = bulk_put(client, "half/", "NONE")
    assert (told["BulkOperationStatus"], told["FailedItemCount"]) == ("COMPLETED_WITH_ERRORS", 1)
    assert set(items_of(client, "other")) == {"\U0001f600"}
    assert [(one["Line"], "Item" in one) for one in errors_reported(objects)] == [(1, False)]
    arn = client.import_table(**import_of(["half/1"], "copy", "NONE"))["ImportTableDescription"]["ImportArn"]
    assert (ended(client, arn)["ErrorCount"], set(items_of(client, "copy"))) == (1, {"\U0001f600"})
