"""The trigger that archives expired items, with an S3 in memory: which records it archives, that repeated and late
records overwrite nothing later, and that no failure is lost.
"""

import logging
import random
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import boto3
import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError

from hashrange.archive.objects import read_archived
from tests.support.seeds import seeds

BUCKET = "old"
TABLE_ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/orders"
STREAM = f"{TABLE_ARN}/stream/2026-11-30T07:46:11.730"
NEXT_STREAM = f"{TABLE_ARN}/stream/2026-12-01T00:00:00.000"
BY_TIME_TO_LIVE = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
BEGIN_SECONDS = 1796028371


def refusal(code: str, status: int, operation: str) -> ClientError:
    return ClientError(
        {"Error": {"Code": code, "Message": "refused"}, "ResponseMetadata": {"HTTPStatusCode": status}},
        operation,
    )


class Kept(NamedTuple):
    """An object of the bucket."""

    content: bytes
    metadata: dict[str, str]
    storage_class: str | None
    etag: str


class MemoryS3:
    """A bucket that knows conditions, and meets what `before_put` does."""

    def __init__(self) -> None:
        self.objects: dict[str, Kept] = {}
        self.before_put: Callable[[str], None] = lambda _key: None
        self._count = 0

    def put_object(
        self, *, Bucket: str, Key: str, Body: bytes, ContentType: str, Metadata: dict[str, str],
        IfMatch: str | None = None, IfNoneMatch: str | None = None, StorageClass: str | None = None,
    ) -> None:  # fmt: skip
        assert (Bucket, ContentType) == (BUCKET, "application/json")
        assert IfMatch or IfNoneMatch, "no object is overwritten blindly"
        self.before_put(Key)
        there = self.objects.get(Key)
        if IfMatch is not None and there is None:
            raise refusal("NoSuchKey", 404, "PutObject")
        if there is not None and IfMatch != there.etag:
            raise refusal("PreconditionFailed", 412, "PutObject")
        self.put_by_force(Key, Kept(Body, Metadata, StorageClass, ""))

    def put_by_force(self, key: str, kept: Kept) -> None:
        """Write an object, as others do."""
        self._count += 1
        self.objects[key] = kept._replace(etag=f'"{self._count}"')

    def head_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:
        assert Bucket == BUCKET
        if Key not in self.objects:
            raise refusal("404", 404, "HeadObject")
        return {"Metadata": self.objects[Key].metadata, "ETag": self.objects[Key].etag}


class Others:
    """What the trigger asks DynamoDB and Lambda."""

    def __init__(self) -> None:
        self.response_types: list[list[str]] | None = [["ReportBatchItemFailures"]]
        """Those of each mapping; None: the question is refused."""

    def describe_table(self, *, TableName: str) -> Any:
        assert TableName == "orders"
        return {"Table": {"KeySchema": [
            {"AttributeName": "at", "KeyType": "RANGE"}, {"AttributeName": "id", "KeyType": "HASH"},
        ]}}  # fmt: skip

    def list_event_source_mappings(self, *, EventSourceArn: str, FunctionName: str) -> Any:
        assert EventSourceArn in {STREAM, NEXT_STREAM}
        assert FunctionName == Context.invoked_function_arn
        if self.response_types is None:
            raise refusal("AccessDeniedException", 403, "ListEventSourceMappings")
        return {"EventSourceMappings": [{"FunctionResponseTypes": one} for one in self.response_types]}


class Context:
    """The second argument of the handler."""

    invoked_function_arn = "arn:aws:lambda:us-east-1:000000000000:function:archive"

    def __init__(self, *left_ms: int) -> None:
        self._left_ms = list(left_ms)

    def get_remaining_time_in_millis(self) -> int:
        return self._left_ms.pop(0) if self._left_ms else 60_000


class World(NamedTuple):
    """The trigger and what it reaches."""

    trigger: Any
    s3: MemoryS3
    others: Others
    make_clients: Callable[[], Any]
    """The trigger's own function, which it does not call here."""

    def archive(self, *records: dict[str, Any], context: Context | None = None) -> list[str]:
        """Let the trigger handle a batch; returns the sequence numbers of the records that failed."""
        reply = self.trigger.handler({"Records": records}, context or Context())
        return [failure["itemIdentifier"] for failure in reply["batchItemFailures"]]

    def restart(self, **variables: str) -> None:
        """Give the function other variables."""
        self.trigger.settings = self.trigger.read_variables({"ARCHIVE_BUCKET": BUCKET, **variables})


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """The trigger as a process of Lambda's loads it."""
    monkeypatch.setenv("ARCHIVE_BUCKET", BUCKET)
    name = "hashrange.archive.trigger"
    sys.modules.pop(name, None)
    trigger: Any = import_module(name)
    s3, others, make_clients = MemoryS3(), Others(), trigger.clients
    monkeypatch.setattr(trigger, "clients", lambda: trigger.AwsClients(s3, others, others))
    yield World(trigger, s3, others, make_clients)
    del sys.modules[name]


def a_record(number: int = 1, key: str = "a", *, stream: str = STREAM, **members: Any) -> dict[str, Any]:
    """A record of an item that has expired; its item tells the number."""
    keys = {"id": {"S": key}}
    change = {
        "ApproximateCreationDateTime": BEGIN_SECONDS + number,
        "Keys": keys,
        "OldImage": {**keys, "Type": {"S": "Order"}, "number": {"N": str(number)}},
        "SequenceNumber": str(number),
        "StreamViewType": "OLD_IMAGE",
    }
    usual = {"eventName": "REMOVE", "eventSourceARN": stream, "userIdentity": BY_TIME_TO_LIVE, "dynamodb": change}
    return usual | members


def number_in(kept: Kept) -> int:
    """The number of the item in an object."""
    return int(read_archived(kept.content).item["number"]["N"])


# --- what is archived -------------------------------------------------------------------------------


def test_an_expired_item_becomes_an_object(world: World) -> None:
    world.restart(ARCHIVE_STORAGE_CLASS="GLACIER")
    assert world.archive(a_record()) == []
    ((key, kept),) = world.s3.objects.items()
    assert key == "archive/Order/a.json"
    assert kept.storage_class == "GLACIER"
    found = read_archived(kept.content)
    assert (found.table, found.item_type, found.deleted_at) == ("orders", "Order", "2026-11-30T08:46:12Z")
    assert found.item == {"id": {"S": "a"}, "Type": {"S": "Order"}, "number": {"N": "1"}}


@pytest.mark.parametrize(
    "members",
    [
        {"eventName": "INSERT"},
        {"eventName": "MODIFY"},
        {"userIdentity": None},
        {"userIdentity": {"type": "Service", "principalId": "another.amazonaws.com"}},
        {"userIdentity": {"type": "User", "principalId": "dynamodb.amazonaws.com"}},
    ],
)
def test_other_records_are_passed_over(world: World, members: dict[str, Any]) -> None:
    assert world.archive(a_record(**members), a_record(2, "b")) == []
    assert list(world.s3.objects) == ["archive/Order/b.json"]


def test_all_deletions_are_archived_if_that_is_wanted(world: World) -> None:
    world.restart(ARCHIVE_REMOVALS="all")
    deleted = a_record()
    del deleted["userIdentity"]
    assert world.archive(deleted, a_record(2, "b", eventName="INSERT")) == []
    assert b'"deleted_by":"request"' in world.s3.objects["archive/Order/a.json"].content
    assert len(world.s3.objects) == 1


def test_the_partition_key_comes_first(world: World) -> None:
    record = a_record()
    record["dynamodb"]["Keys"] = {"at": {"N": "5"}, "id": {"S": "../a"}}
    assert world.archive(record) == []
    assert list(world.s3.objects) == ["archive/Order/%2E.%2Fa/5.json"]
    record["dynamodb"]["Keys"] = {"at": {"N": "5"}, "other": {"S": "a"}}
    assert world.archive(record) == ["1"]


@pytest.mark.parametrize(
    ("value", "segment"),
    [({"N": "7"}, "7"), ({"S": ""}, "orders"), ({"BOOL": True}, "orders"), ({"L": []}, "orders"), (None, "orders")],
)
def test_the_type_is_a_text_or_the_table(world: World, value: Any, segment: str) -> None:
    world.restart(ARCHIVE_TYPE_ATTRIBUTE="kind", ARCHIVE_PREFIX="x/y/")
    record = a_record()
    if value is not None:
        record["dynamodb"]["OldImage"]["kind"] = value
    world.archive(record)
    assert list(world.s3.objects) == [f"x/y/{segment}/a.json"]


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({"ARCHIVE_BUCKET": ""}, "ARCHIVE_BUCKET is not set"),
        ({"ARCHIVE_PREFIX": "../"}, r'ARCHIVE_PREFIX is "\.\./"; it must have'),
        ({"ARCHIVE_REMOVALS": "some"}, 'ARCHIVE_REMOVALS is "some"; it must be "expired" or "all"'),
    ],
)
def test_unusable_variables_are_told(world: World, variables: dict[str, str], why: str) -> None:
    with pytest.raises(world.trigger.ArchiveFailure, match=why):
        world.restart(**variables)


@pytest.mark.parametrize(("profile", "key"), [("", "HERE"), ("elsewhere", "THERE")])
def test_s3_may_have_credentials_of_its_own(
    world: World, profile: str, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "credentials").write_text("[elsewhere]\naws_access_key_id = THERE\naws_secret_access_key = x\n")
    variables = {
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"),
        "AWS_ACCESS_KEY_ID": "HERE",
        "AWS_SECRET_ACCESS_KEY": "x",
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_ENDPOINT_URL_S3": "http://storage.example:9000",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)  # the new one is forgotten with its credentials
    world.restart(ARCHIVE_PROFILE=profile)
    made = world.make_clients()
    url = made.s3.generate_presigned_url("get_object", Params={"Bucket": BUCKET, "Key": "key"})
    assert url.startswith(f"http://storage.example:9000/{BUCKET}/key?")
    assert f"={key}" in url
    assert made.dynamodb.meta.region_name == made.functions.meta.region_name == "eu-west-1"


# --- repeated and late records ----------------------------------------------------------------------


def test_a_later_deletion_replaces_and_an_older_one_does_not(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    key = "archive/Order/a.json"
    for number, kept in ((5, 5), (5, 5), (7, 7), (6, 7), (5, 7)):
        assert world.archive(a_record(number)) == []
        assert number_in(world.s3.objects[key]) == kept
    assert f"{key}, deleted at 2026-11-30T08:46:16Z, is replaced by the version deleted at 2026-11-30T08:46:18Z" in (
        caplog.text
    )
    assert f"{key} stays: it was deleted later, at 2026-11-30T08:46:18Z, than the record 6" in caplog.text


def deletions(rng: random.Random) -> list[dict[str, Any]]:
    """Deletions of a few items, of two streams of the table that follow one another, in their order."""
    count = rng.randrange(4, 12)
    change_of_stream = rng.randrange(count)
    return [
        a_record(number, rng.choice("abc"), stream=STREAM if number < change_of_stream else NEXT_STREAM)
        for number in range(1, count)
    ]


@pytest.mark.parametrize("seed", seeds(50, 10_000))
def test_the_last_deletion_stays_however_records_are_delivered(world: World, seed: int) -> None:
    """Each record is delivered at least once, in any order; others write and delete the same objects meanwhile."""
    rng = random.Random(seed)
    records = deletions(rng)
    deliveries = records + rng.choices(records, k=len(records))
    rng.shuffle(deliveries)
    last = {record["dynamodb"]["Keys"]["id"]["S"]: int(record["dynamodb"]["SequenceNumber"]) for record in records}

    def meddle(key: str) -> None:
        match rng.randrange(12):
            case 0:  # another delivery of a record of this item is quicker
                world.s3.before_put = lambda _key: None
                same = [record for record in records if key.endswith(f"/{record['dynamodb']['Keys']['id']['S']}.json")]
                world.trigger.archive_record(rng.choice(same))
                world.s3.before_put = meddle
            case 1:
                raise refusal("ConditionalRequestConflict", 409, "PutObject")
            case 2:
                raise refusal("SlowDown", 503, "PutObject")

    world.s3.before_put = meddle
    versions: dict[str, int] = {}
    world.others.response_types = None
    while deliveries:
        size = rng.randrange(1, 5)
        batch, deliveries = deliveries[:size], deliveries[size:]
        try:
            world.archive(*batch)
        except world.trigger.ArchiveFailure:
            deliveries += batch
        for key, kept in world.s3.objects.items():
            assert number_in(kept) >= versions.get(key, 0), "no older version overwrites a later one"
            versions[key] = number_in(kept)
    assert {key.split("/")[-1][0]: number_in(kept) for key, kept in world.s3.objects.items()} == last


# --- failures ---------------------------------------------------------------------------------------


def test_a_failed_record_is_reported_and_the_others_are_archived(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(key: str) -> None:
        if key.endswith("/b.json"):
            raise refusal("AccessDenied", 403, "PutObject")

    world.s3.before_put = refuse
    batch = [a_record(1, "a"), a_record(2, "b"), a_record(3, "c")]
    assert world.archive(*batch) == ["2"]
    assert list(world.s3.objects) == ["archive/Order/a.json", "archive/Order/c.json"]
    assert "the record 2 is not archived: An error occurred (AccessDenied)" in caplog.text
    for response_types in ([["ReportBatchItemFailures"], []], [], None):
        world.others.response_types = response_types
        with pytest.raises(world.trigger.ArchiveFailure, match="1 of 3 deleted items are not archived"):
            world.archive(*batch)


def test_a_silent_s3_fails_for_the_rest_of_the_batch(world: World) -> None:
    def be_silent(key: str) -> None:
        if not key.endswith("/a.json"):
            asked.append(key)
            raise ConnectTimeoutError(endpoint_url="http://localhost:1")

    asked: list[str] = []
    world.s3.before_put = be_silent
    assert world.archive(*(a_record(place, key) for place, key in enumerate("abcd"))) == ["1", "2", "3"]
    assert len(asked) == 1


def test_records_for_which_no_time_is_left_come_again(world: World) -> None:
    batch = [a_record(place, key) for place, key in enumerate("abcd")]
    assert world.archive(*batch, context=Context(5_000, 900)) == ["2", "3"]
    assert len(world.s3.objects) == 2
    assert world.archive(batch[0], context=Context(0)) == [], "the first one is tried in any case"


@pytest.mark.parametrize("view_type", ["KEYS_ONLY", "NEW_IMAGE"])
def test_a_stream_without_images_is_told(world: World, view_type: str) -> None:
    record = a_record()
    del record["dynamodb"]["OldImage"]
    record["dynamodb"]["StreamViewType"] = view_type
    with pytest.raises(world.trigger.ArchiveFailure, match=f"table orders has the view type {view_type}, without"):
        world.archive(record)


def test_objects_of_others_are_not_overwritten(world: World) -> None:
    of_other_table = STREAM.replace("orders", "others")
    world.archive(a_record(9, stream=of_other_table))
    world.s3.put_by_force("archive/Order/b.json", Kept(b"{}", {}, None, ""))
    before = dict(world.s3.objects)
    number = a_record(11, "9")
    assert world.archive(number) == []
    number["dynamodb"] |= {"Keys": {"id": {"N": "9"}}, "SequenceNumber": "12"}
    before["archive/Order/9.json"] = world.s3.objects["archive/Order/9.json"]
    assert world.archive(a_record(10), a_record(10, "b"), number) == ["10", "10", "12"]
    assert world.s3.objects == before


def test_an_object_that_others_write_or_delete_once_is_written(world: World) -> None:
    def conflict_once(_key: str) -> None:
        world.s3.before_put = lambda _key: None
        raise refusal("ConditionalRequestConflict", 409, "PutObject")

    def delete_at_second(key: str) -> None:
        puts.append(key)
        if len(puts) == 2:
            del world.s3.objects[key]

    puts: list[str] = []
    world.s3.before_put = conflict_once
    assert world.archive(a_record(1)) == []
    world.s3.before_put = delete_at_second
    assert world.archive(a_record(2)) == []
    assert len(puts) == 3
    assert number_in(world.s3.objects["archive/Order/a.json"]) == 2


def test_an_object_that_others_write_all_the_time_is_reported(world: World) -> None:
    def conflict(_key: str) -> None:
        raise refusal("ConditionalRequestConflict", 409, "PutObject")

    world.s3.before_put = conflict
    assert world.archive(a_record()) == ["1"]
