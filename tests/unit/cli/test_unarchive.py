"""`hashrange unarchive`: what it shows of an archive, what it writes, and what it says of damaged objects."""

import random
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import boto3
import pytest
from botocore.exceptions import ClientError

from hashrange.archive.objects import Version, encode_archived, object_key
from hashrange.cli import unarchive
from hashrange.cli.archived_items import (
    ArchivedState,
    ArchiveObject,
    ArchiveStore,
    Aws,
    AwsFailure,
    Result,
    Selection,
    TargetTable,
    TimeToLiveChoice,
    comparable,
    compare_and_put,
    sdk_value,
)
from hashrange.cli.main import COMMANDS, DONE, FAILED, WRONG_USE, main
from hashrange.cli.parsing import parse
from hashrange.settings import Settings
from hashrange.testing import server
from tests.support.seeds import seeds
from tests.unit.cli.test_hostile_text import EVIL, require_harmless

BUCKET = "old"
PAST, FUTURE = "1000000000", "9999999999"
MOMENT = "2026-11-30T08:46:11Z"

Printed = pytest.CaptureFixture[str]
_numbers = count()


@cache
def client_of(service: str, endpoint: str) -> Any:
    return boto3.client(
        service,
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
    )


class Place(NamedTuple):
    """A server with DynamoDB and S3, and one archive and table of it."""

    endpoint: str
    folder: Path
    table: str

    def client(self, service: str) -> Any:
        return client_of(service, self.endpoint)

    def archive(self, *items: dict[str, Any], item_type: str = "Order", table: str = "", prefix: str = "") -> list[str]:
        """Put items into the archive; returns their objects' keys."""
        prefix = prefix or f"{self.table}/"
        stream = f"arn:aws:dynamodb:us-east-1:000000000000:table/{table or self.table}/stream/now"
        keys = []
        for item in items:
            values = [item[name] for name in ("id", "at") if name in item]
            content = encode_archived(Version(stream, 1, MOMENT, "S"), item_type, item, is_expired=True)
            keys.append(object_key(prefix, item_type, values))
            self.put_object(keys[-1], content)
        return keys

    def put_object(self, key: str, content: bytes) -> None:
        self.client("s3").put_object(Bucket=BUCKET, Key=key, Body=content)

    def items(self) -> list[dict[str, Any]]:
        """The items of the table, sorted."""
        return sorted(self.client("dynamodb").scan(TableName=self.table)["Items"], key=str)

    def run(self, capsys: Printed, *words: str, code: int = DONE) -> str:
        """What the command prints on standard output, and behind it on standard error."""
        options = ["--endpoint", self.endpoint, "--prefix", f"{self.table}/", *words]
        assert main(["unarchive", BUCKET, self.table, *options]) == code
        captured = capsys.readouterr()
        return captured.out + captured.err


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    folder = tmp_path_factory.mktemp("s3")
    (folder / BUCKET).mkdir()
    with server(Settings(data_dir=None, port=0, s3_folder=str(folder))) as database:
        yield database.endpoint, folder / BUCKET


def make_place(served: tuple[str, Path], key: str = "S", time_to_live: str | None = None, sort_key: str = "") -> Place:
    """A new table, with or without time to live, and an archive below a prefix of its own."""
    place = Place(*served, table=f"table-{next(_numbers)}")
    attributes = {"id": key} | ({"at": sort_key} if sort_key else {})
    client = place.client("dynamodb")
    client.create_table(
        TableName=place.table,
        KeySchema=[
            {"AttributeName": name, "KeyType": kind} for name, kind in zip(attributes, ("HASH", "RANGE"), strict=False)
        ],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": kind} for name, kind in attributes.items()],
        BillingMode="PAY_PER_REQUEST",
    )
    if time_to_live:
        client.update_time_to_live(
            TableName=place.table, TimeToLiveSpecification={"Enabled": True, "AttributeName": time_to_live}
        )
    return place


make_client = unarchive.make_client
_made: dict[str, Any] = {}


@pytest.fixture(autouse=True)
def kept_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs of the command share the clients of an endpoint: to make one takes 20 ms."""

    def kept_client(service: str, endpoint: str, region: str, keys: Mapping[str, str]) -> Any:
        name = f"{service} {endpoint}"
        _made[name] = _made.get(name) or make_client(service, endpoint, region, keys)
        return _made[name]

    monkeypatch.setattr(unarchive, "make_client", kept_client)


@pytest.fixture
def place(served: tuple[str, Path]) -> Place:
    """A table without time to live."""
    return make_place(served)


def an_item(number: int, **members: Any) -> dict[str, Any]:
    return {"id": {"S": f"order-{number}"}, "number": {"N": str(number)}, **members}


# --- what is shown and written ----------------------------------------------------------------------


def test_it_shows_and_writes_nothing_then_writes_what_is_new(place: Place, capsys: Printed) -> None:
    items = [an_item(number) for number in range(3)]
    keys = place.archive(*items)
    shown = place.run(capsys)
    assert shown.splitlines() == [
        *(f"new        {key}  (deleted {MOMENT})" for key in keys),
        "3 objects new: the table has no item with this key.",
        "Nothing has been written. --write writes those that are new.",
    ]
    assert place.items() == []
    assert "3 objects written: the item has been put into the table.\n" in place.run(capsys, "--write")
    assert place.items() == items
    assert place.run(capsys).splitlines()[-1].startswith("3 objects identical: the item is in the table;")
    assert place.run(capsys, "--write").splitlines()[-1].startswith("3 objects identical")


def test_an_item_that_is_there_stays_unless_it_is_to_be_replaced(place: Place, capsys: Printed) -> None:
    place.archive(an_item(1), an_item(2))
    mine = an_item(1, mine={"BOOL": True})
    place.client("dynamodb").put_item(TableName=place.table, Item=mine)
    shown = place.run(capsys)
    assert "1 object different: another item with this key is in the table.\n" in shown
    assert "--write writes those that are new, and --write --replace those that are different.\n" in shown
    place.run(capsys, "--write")
    assert place.items() == sorted([mine, an_item(2)], key=str)
    assert "--replace needs --type" in place.run(capsys, "--write", "--replace", code=WRONG_USE)
    place.run(capsys, "--replace", "--type", "Order")
    assert mine in place.items()
    told = place.run(capsys, "--write", "--replace", "--type", "Order")
    assert "1 object replaced: the item has replaced another.\n" in told
    assert place.items() == [an_item(1), an_item(2)]


def test_an_item_that_comes_meanwhile_stays(place: Place) -> None:
    class Slow(TargetTable):
        """Others write after the first look."""

        def find(self, key: Any) -> Any:
            found = super().find(key)
            place.client("dynamodb").put_item(TableName=place.table, Item=an_item(1, mine={"S": "1"}))
            return found

    table = Slow(Aws(place.client("dynamodb"), "DynamoDB"), place.table)
    selection = Selection(place.table, "", TimeToLiveChoice(None), is_writing=True, is_replacing=False)
    assert compare_and_put(table, selection, an_item(1)) == "different"
    assert place.items() == [an_item(1, mine={"S": "1"})]


def test_types_and_beginnings_of_keys_narrow(place: Place, capsys: Printed) -> None:
    long = "x" * 1000
    names = ["a/b", ".a", long + "a", long + "b"]
    for item_type in ("../x", "é" * 300):
        place.archive(*({"id": {"S": name}} for name in names), item_type=item_type)
        assert "4 objects new" in place.run(capsys, "--type", item_type)
    for beginning, number in (("a/", 1), (".", 1), (long, 2), (long + "a", 1)):
        assert f"{2 * number} objects new" in place.run(capsys, "--key-prefix", beginning, "--lines", "0")
    assert "2 objects new" in place.run(capsys, "--type", "../x", "--key-prefix", long)
    for words in (("--type", ".."), ("--key-prefix", "b")):
        assert place.run(capsys, *words) == f"The bucket {BUCKET} has no such objects below {place.table}/.\n"


def test_lines_are_bounded(place: Place, capsys: Printed) -> None:
    place.archive(*(an_item(number) for number in range(4)))
    for number in range(3):
        place.put_object(f"{place.table}/Order/damaged-{number}.json", b"{")
    for shown in (0, 2, 20):
        lines = place.run(capsys, "--lines", str(shown), code=FAILED).splitlines()
        assert len([line for line in lines if line.startswith("new ")]) == min(shown, 4)
        assert len([line for line in lines if "no whole JSON" in line]) == min(shown, 3)
        hidden = f" {4 - shown} are not shown." if shown < 4 else ""
        assert f"4 objects new: the table has no item with this key.{hidden}" in lines


def test_twenty_lines_of_a_kind_are_shown(capsys: Printed) -> None:
    options = parse(unarchive.build_parser(), [BUCKET, "orders"])
    selection = Selection("orders", "", TimeToLiveChoice(None), is_writing=True, is_replacing=False)
    states: tuple[ArchivedState, ...] = ("written", "identical")
    found = (Result(f"key-{number}", state, MOMENT) for number in range(2000) for state in states)
    table: Any = None
    assert unarchive.tell(found, table, selection, options) == DONE
    printed = capsys.readouterr()
    assert printed.out.count("key-") == 40
    assert "2,000 objects written: the item has been put into the table. 1,980 are not shown.\n" in printed.out
    assert printed.err == "", "progress is for terminals"


def test_what_was_written_is_told_when_the_server_fails(capsys: Printed) -> None:
    def failing() -> Iterator[Result]:
        yield Result("key", "written", MOMENT)
        raise AwsFailure("DynamoDB cannot be used: it is gone")

    options = parse(unarchive.build_parser(), [BUCKET, "orders"])
    selection = Selection("orders", "", TimeToLiveChoice(None), is_writing=True, is_replacing=False)
    table: Any = None
    with pytest.raises(AwsFailure):
        unarchive.tell(failing(), table, selection, options)
    assert "1 object written: " in capsys.readouterr().out


def test_a_table_may_be_named_by_its_arn(place: Place, capsys: Printed) -> None:
    place.archive(an_item(1))
    arn = f"arn:aws:dynamodb:us-east-1:000000000000:table/{place.table}"
    assert "1 object new" in place._replace(table=arn).run(capsys, "--prefix", f"{place.table}/")


def test_the_items_of_another_table_come_if_it_is_named(place: Place, capsys: Printed) -> None:
    (key,) = place.archive(an_item(1), table="others")
    assert f"{key}: its item is of the table others.\n" in place.run(capsys, "--write", code=FAILED)
    place.run(capsys, "--write", "--from-table", "others")
    assert place.items() == [an_item(1)]


@pytest.mark.parametrize(("key", "value"), [("B", {"B": "AAEv"}), ("N", {"N": "-1.5"})])
def test_keys_of_every_type(served: tuple[str, Path], key: str, value: dict[str, str], capsys: Printed) -> None:
    place = make_place(served, key)
    place.archive({"id": value})
    place.run(capsys, "--write")
    assert place.items() == [{"id": sdk_value(value)}]
    if key == "B":
        assert "the partition key of" in place.run(capsys, "--key-prefix", "a", code=WRONG_USE)
    else:
        assert "1 object identical" in place.run(capsys, "--key-prefix", "-1")


def a_random_value(rng: random.Random, depth: int = 0) -> dict[str, Any]:
    """A value of DynamoDB's JSON."""
    texts = ["", "a", "é\u2028", "\0", "\U0001f600"]
    match rng.choice(["S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"] if depth < 3 else ["S", "N"]):
        case "N":
            return {"N": f"{rng.randrange(-(10**20), 10**20)}.50"}
        case "B":
            return {"B": rng.choice(["", "AA==", "AAEC"])}
        case "BOOL":
            return {"BOOL": rng.random() < 0.5}
        case "NULL":
            return {"NULL": True}
        case "SS":
            return {"SS": rng.sample(texts[1:], 2)}
        case "NS":
            return {"NS": rng.sample(["1", "-2.50", "3E+5"], 2)}
        case "BS":
            return {"BS": rng.sample(["AA==", "AAEC", "/w=="], 2)}
        case "L":
            return {"L": [a_random_value(rng, depth + 1) for _ in range(rng.randrange(4))]}
        case "M":
            return {"M": {str(name): a_random_value(rng, depth + 1) for name in range(rng.randrange(4))}}
    return {"S": rng.choice(texts)}


@pytest.mark.parametrize("seed", seeds(1, 200))
def test_random_items_come_back_equal(served: tuple[str, Path], seed: int, capsys: Printed) -> None:
    """In any order with items that others write and delete; what has been there stays."""
    rng = random.Random(seed)
    place = make_place(served, sort_key="N")
    client = place.client("dynamodb")
    model: dict[tuple[str, str], Any] = {}
    for number in range(12):
        identity = f"{rng.choice(['../', 'a/', '%', EVIL])}{rng.randrange(4)}", str(number % 7)
        item = {"id": {"S": identity[0]}, "at": {"N": identity[1]}} | {
            str(name): a_random_value(rng) for name in range(rng.randrange(5))
        }
        place.archive(item)
        model[identity] = {name: sdk_value(value) for name, value in item.items()}
    for identity in rng.sample(sorted(model), 3):
        mine = {"id": {"S": identity[0]}, "at": {"N": identity[1]}, "mine": {"BOOL": True}}
        client.put_item(TableName=place.table, Item=mine)
        model[identity] = mine
    require_harmless(place.run(capsys, "--lines", "1000"))
    place.run(capsys, "--write")
    found = {(item["id"]["S"], item["at"]["N"]): comparable(item, None) for item in place.items()}
    assert found == {identity: comparable(item, None) for identity, item in model.items()}
    assert "new: " not in place.run(capsys)


# --- time to live -----------------------------------------------------------------------------------


def test_expired_items_are_not_written_before_it_is_said_what_becomes_of_them(
    served: tuple[str, Path], capsys: Printed
) -> None:
    place = make_place(served, time_to_live="expires")
    place.archive(an_item(1, expires={"N": PAST}), an_item(2, expires={"N": FUTURE}), an_item(3))
    shown = place.run(capsys)
    assert "Time to live will delete 1 item of these again, by the attribute expires;" in shown
    refused = place.run(capsys, "--write", code=WRONG_USE)
    assert refused == (
        f"hashrange: items of table {place.table} expire by expires, and what has expired would be deleted again."
        " Say --remove-ttl, --expires-in 30d, or --keep-ttl.\n"
    )
    assert place.items() == []
    assert "Time to live will" not in place.run(capsys, "--expires-in", "2h", "--write")
    moved = {item["id"]["S"]: item.get("expires") for item in place.items()}
    assert moved["order-3"] is None
    assert moved["order-1"] == moved["order-2"] != {"N": FUTURE}
    for words in (("--expires-in", "9d"), ("--keep-ttl",)):
        assert "3 objects identical" in place.run(capsys, "--write", *words)


def test_the_attribute_can_be_removed_or_kept(served: tuple[str, Path], capsys: Printed) -> None:
    place = make_place(served, time_to_live="expires")
    place.archive(an_item(1, expires={"N": PAST}), an_item(2, expires={"N": FUTURE}), an_item(3))
    place.run(capsys, "--remove-ttl", "--write", "--key-prefix", "order-1")
    assert place.items() == [an_item(1)]
    assert "Time to live will delete" not in place.run(capsys, "--keep-ttl", "--write")
    assert an_item(2, expires={"N": FUTURE}) in place.items()


def test_service_time_decides_when_items_expire(tmp_path: Path, capsys: Printed) -> None:
    (tmp_path / BUCKET).mkdir()
    with server(Settings(data_dir=None, port=0, admin=True, s3_folder=str(tmp_path))) as database:
        database.clock.freeze()
        database.clock.advance(90_000_000)
        place = make_place((database.endpoint, tmp_path / BUCKET), time_to_live="expires")
        place.archive(an_item(1, expires={"N": PAST}))
        place.run(capsys, "--expires-in", "1d", "--write")
        (item,) = place.items()
        assert int(item["expires"]["N"]) == int(database.clock.now()) + 86_400


def test_what_cannot_be_done_with_time_to_live_is_refused(served: tuple[str, Path], capsys: Printed) -> None:
    place = make_place(served)
    for words in (("--remove-ttl",), ("--expires-in", "1d")):
        assert "time to live is off in table" in place.run(capsys, *words, code=WRONG_USE)
    place = make_place(served, time_to_live="at", sort_key="N")
    assert "expire by at, which is part of their key" in place.run(capsys, "--remove-ttl", code=WRONG_USE)


# --- damage -----------------------------------------------------------------------------------------


def test_damaged_objects_are_named_and_the_others_are_written(place: Place, capsys: Printed) -> None:
    good = place.archive(an_item(1), an_item(2))
    content = (place.folder / good[0]).read_bytes()
    damaged = {
        "cut": (content[:-9], "it is no whole JSON"),
        "empty": (b"", "it is no whole JSON"),
        "foreign": (b'{"id": 1}', 'it is no archived item: it has no "format": 1'),
        "moved": (content, f"its item belongs at {good[0]}"),
        "long": (content + b" " * 5_000_000, "it is too long for an archived item"),
        "number": (content.replace(b'{"S":"order-1"}', b'{"N":"1"}'), "has no key attribute id of the type S"),
        "keyless": (content.replace(b'"id":', b'"no":'), "has no key attribute id of the type S"),
        "value": (content.replace(b'{"N":"1"}', b'{"N":1}'), "its item is none: "),
        "nested": (content.replace(b'{"N":"1"}', b'{"L":[' * 50 + b"]}" * 50), "its item is none: "),
        "binary": (content.replace(b'{"N":"1"}', b'{"B":"?"}'), "neither Unicode nor Base64"),
        "lone": (content.replace(b'{"N":"1"}', rb'{"L":[{"S":"\ud800"}]}'), "neither Unicode nor Base64"),
        "surrogate": (content.replace(b"order-1", rb"\udc80"), "neither Unicode nor Base64"),
        "evil": (content.replace(b'"type":"Order"', b'"type":"\\u001b[2J"'), "its item belongs at"),
        "table": (
            content.replace(place.table.encode(), b"\\u001b[2Jothers"),
            "its item is of the table \\x1b[2Jothers",
        ),
    }
    for name, (text, _) in damaged.items():
        place.put_object(f"{place.table}/Order/{name}.json", text)
    place.put_object(f"{place.table}/Order/", b"")
    told = place.run(capsys, "--write", code=FAILED)
    require_harmless(told)
    for name, (_, why) in damaged.items():
        (line,) = [line for line in told.splitlines() if f"/Order/{name}.json: " in line]
        assert why in line
    assert "2 objects written" in told
    assert f"{len(damaged)} objects unusable" in told
    assert place.items() == [an_item(1), an_item(2)]


def test_an_item_that_the_table_refuses_is_named(served: tuple[str, Path], capsys: Printed) -> None:
    place = make_place(served)
    (key, _) = place.archive(an_item(1, empty={"SS": []}), an_item(2))
    told = place.run(capsys, "--write", code=FAILED)
    assert f"{key}: DynamoDB at {place.endpoint} refused PutItem: ValidationException: " in told
    assert place.items() == [an_item(2)]


class ColdS3:
    """An S3 whose objects lie in GLACIER."""

    def get_object(self, **_: str) -> None:
        raise ClientError({"Error": {"Code": "InvalidObjectState", "Message": "restore it"}}, "GetObject")


def test_objects_that_have_to_be_restored_first(place: Place) -> None:
    archive = ArchiveStore(Aws(ColdS3(), "S3"), BUCKET, "archive/")
    with pytest.raises(ValueError, match="has to be restored from first, by `aws s3api restore-object`"):
        archive.read(ArchiveObject("a", 1))


# --- refusals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--prefix", "../"], '--prefix is "../"; it must have'),
        (["--lines", "-1"], '--lines is "-1"; it must be a number'),
        (["--expires-in", "30"], '--expires-in is "30"; it must be a number with s, m, h or d behind it'),
        (["--expires-in", "1d", "--keep-ttl"], "--remove-ttl, --expires-in and --keep-ttl exclude one another"),
        (["--replace"], "--replace needs --type"),
        (["--key-prefix", "\udcff"], '"\\udcff" holds bytes that are no UTF-8'),
        (["--s3-endpoint", "localhost"], '--s3-endpoint is "localhost"; it must be a URL'),
    ],
)
def test_wrong_options_are_refused(words: list[str], sentence: str, capsys: Printed) -> None:
    assert main(["unarchive", BUCKET, "orders", *words]) == WRONG_USE
    assert capsys.readouterr().err.startswith(f"hashrange: {sentence}")


def test_what_cannot_be_reached_is_told(place: Place, free_port: int, capsys: Printed) -> None:
    nowhere = f"http://127.0.0.1:{free_port}"
    assert main(["unarchive", BUCKET, "orders", "--endpoint", nowhere]) == FAILED
    assert capsys.readouterr().err.startswith(f"hashrange: DynamoDB at {nowhere} cannot be used: Could not connect")
    assert main(["unarchive", BUCKET, "no-table", "--endpoint", place.endpoint]) == FAILED
    assert "refused DescribeTable: ResourceNotFoundException" in capsys.readouterr().err
    assert main(["unarchive", "nobody", place.table, "--endpoint", place.endpoint]) == FAILED
    assert "refused ListObjectsV2: NoSuchBucket" in capsys.readouterr().err
    assert main(["unarchive", "no bucket", place.table, "--endpoint", place.endpoint]) == FAILED
    assert capsys.readouterr().err.count("\n") == 1


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, capsys: Printed) -> None:
    monkeypatch.setattr(unarchive, "find_spec", lambda _name: None)
    assert main(["unarchive", BUCKET, "orders"]) == FAILED
    assert "called by boto3, which is not installed. Install it: pip install" in capsys.readouterr().err


def test_s3_may_be_elsewhere(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed) -> None:
    monkeypatch.setattr(unarchive, "make_client", make_client)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)  # that of other tests may have credentials
    (tmp_path / BUCKET).mkdir()
    with server(Settings(data_dir=None, port=0, s3_folder=str(tmp_path))) as database:
        Place(database.endpoint, tmp_path, place.table).archive(an_item(1))
        assert "has no such objects" in place.run(capsys)
        told = place.run(capsys, "--s3-endpoint", database.endpoint, code=FAILED)
        assert told == f"hashrange: S3 at {database.endpoint} cannot be used: Unable to locate credentials\n"
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "any")
        assert "1 object new" in place.run(capsys, "--s3-endpoint", database.endpoint)
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"{database.endpoint}/")
        assert "1 object new" in place.run(capsys)


@pytest.mark.parametrize(
    ("endpoint", "s3_endpoint"),
    [
        ("https://dynamodb.eu-west-1.amazonaws.com", "https://s3.eu-west-1.amazonaws.com"),
        ("https://dynamodb.cn-north-1.amazonaws.com.cn", "https://s3.cn-north-1.amazonaws.com.cn"),
        ("http://localhost:8000", "http://localhost:8000"),
        ("https://dynamodb.example.com", "https://dynamodb.example.com"),
    ],
)
def test_s3_is_at_aws_if_dynamodb_is(endpoint: str, s3_endpoint: str) -> None:
    region = endpoint.split(".")[1] if "amazonaws" in endpoint else "us-east-1"
    dynamodb, s3 = unarchive.clients_of(endpoint, None, region, {})
    assert (dynamodb.client.meta.endpoint_url, s3.client.meta.endpoint_url) == (endpoint, s3_endpoint)


def test_it_is_listed() -> None:
    assert "unarchive" in COMMANDS
