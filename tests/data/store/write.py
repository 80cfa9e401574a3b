"""How were the files beside this one written? By the sources of the commits that wrote the store's former formats:

    mkdir /tmp/old && git archive COMMIT src | tar x -C /tmp/old
    PYTHONPATH=/tmp/old/src .venv/bin/python -m tests.data.store.write tests/data/store/format-9

This writes `format-9.snapshot`, a database with streams, Kinesis destinations, mappings and waiting index entries, and
`format-9.json`, what clients get from a server of the same source that begins with it.
tests/unit/store/test_former_formats.py asks today's server for the same. The files hold:

| file | commit |
|---|---|
| format-9-first | f4cb2395, the first of format 9, which knew no destinations and no triggers |
| format-9 | db9e42fe, the last of format 9 |
| format-10 | 0ba2ef14, the last of format 10 |
| format-11 | c9814d5f, a late one of format 11 |

Service time stands still at START_SECONDS and moves by hand, so that a second run writes the same, except for random
ids and labels. This script uses only what all these sources have.
"""

import io
import json
import socket
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

from hashrange.clock import SystemClock
from hashrange.settings import Settings
from hashrange.testing import Database, server
from tests.support.fake_kinesis import Asked, FakeKinesis, Misbehaviour, threaded_kinesis
from tests.support.raw_client import read_reply, request_head
from tests.support.signing import sign

START_SECONDS = 2_000_000_000.0
HOUR_SECONDS = 3600.0
INDEX_DELAY_SECONDS = 3 * HOUR_SECONDS
PARTITION_BYTES = 32 * 1024
DATA_STREAMS = ("both-changes", "feed-changes", "keys-changes", "wide-changes", "again-changes", "gone-changes")
LONG_TEXT_LENGTH = 100
"""Longer texts stand in the JSON as their length and the start of their SHA-256."""
HAS_OTHERS = "kinesis_endpoint" in Settings.__struct_fields__
"""True if this source knows destinations, triggers, functions and metrics."""
TRIGGERS = """
[functions.watch]
url = "{url}"

[[mapping]]
table = "triggered"
function = "watch"
batch_size = 2

[[mapping]]
table = "both"
function = "watch"
batch_size = 3
parallelization_factor = 2
"""


# --- what the database needs around it --------------------------------------------------------------


@contextmanager
def still_time(seconds: float) -> Iterator[None]:
    """Let the machine's clock stand still, as far as service time goes by it."""
    former = SystemClock.service_time
    SystemClock.service_time = lambda _: seconds  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        SystemClock.service_time = former  # type: ignore[method-assign]


class Watch:
    """A function at a URL, which keeps the records that it was given, and fails if it is told to."""

    def __init__(self) -> None:
        self.records: list[Any] = []
        self.fails = False
        self.url = ""


@contextmanager
def watching() -> Iterator[Watch]:
    """Run a function's server on a thread."""
    watch = Watch()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if not watch.fails:
                watch.records += event["Records"]
            self.send_response(500 if watch.fails else 200)
            self.send_header("Content-Length", "4")
            self.end_headers()
            self.wfile.write(b"null")

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    watch.url = f"http://127.0.0.1:{http.server_port}/"
    thread = Thread(target=http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


class Surroundings(NamedTuple):
    """What a database calls."""

    kinesis: FakeKinesis
    watch: Watch
    triggers: Path | None
    """The file of triggers; None: the database calls neither Kinesis nor a function."""

    def let_kinesis_fail(self, *, fails: bool) -> None:
        """Kinesis accepts no record while it fails."""

        def misbehave(asked: Asked) -> Misbehaviour | None:
            return "none" if fails and asked.operation == "PutRecords" else None

        self.kinesis.misbehave = misbehave

    def settings(self, **others: Any) -> Settings:
        """Settings of a database with these surroundings."""
        others = {"data_dir": None, "port": 0, "index_delay_seconds": INDEX_DELAY_SECONDS, **others}
        if HAS_OTHERS:
            others["metrics"] = "off"
        if self.triggers is not None:
            others |= {"kinesis_endpoint": self.kinesis.url, "triggers": str(self.triggers), "functions": True}
        return Settings(**others)


@contextmanager
def surroundings(*, are_called: bool = HAS_OTHERS) -> Iterator[Surroundings]:
    """Run a Kinesis and a function, which the database calls or not."""
    with threaded_kinesis(*DATA_STREAMS) as kinesis, watching() as watch, tempfile.TemporaryDirectory() as folder:
        triggers = Path(folder, "triggers.toml")
        triggers.write_text(TRIGGERS.format(url=watch.url), encoding="utf-8")
        yield Surroundings(kinesis, watch, triggers if are_called else None)


@contextmanager
def started(settings: Settings, snapshot: Path | None = None) -> Iterator[Database]:
    """Run a database whose service time stands still."""
    with server(settings, snapshot=snapshot) as database:
        database.clock.freeze()
        yield database


def rest(database: Database) -> None:
    """Return once all is done that is due now."""
    database.clock.advance(0.001)


# --- what clients get -------------------------------------------------------------------------------


class Client:
    """A client that sees replies as they are sent, and that is much quicker than boto3."""

    def __init__(self, database: Database) -> None:
        host = database.endpoint.removeprefix("http://")
        name, _, port = host.partition(":")
        self._host = host
        self._connection = socket.create_connection((name, int(port)))
        self._incoming = self._connection.makefile("rb")
        self._signed, self._signed_for_lambda = [
            sign({"Host": host}, b"", seconds=time.time(), service=service) for service in ("dynamodb", "lambda")
        ]
        """The server looks at date and service of signatures only, for it knows no secrets."""

    def dynamodb(self, operation: str, **members: Any) -> Any:
        """The reply of an operation of DynamoDB."""
        return self._ask("POST", "/", members, "DynamoDB_20120810." + operation)

    def streams(self, operation: str, **members: Any) -> Any:
        """The reply of an operation of DynamoDB Streams."""
        return self._ask("POST", "/", members, "DynamoDBStreams_20120810." + operation)

    def get(self, path: str) -> Any:
        """The reply of an operation of Lambda."""
        return self._ask("GET", path, None, None)

    def _ask(self, method: str, path: str, members: dict[str, Any] | None, target: str | None) -> Any:
        headers = self._signed_for_lambda
        if target is not None:
            headers = {**self._signed, "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": target}
        body = None if members is None else json.dumps(members).encode()
        return json.loads(self._content(method, path, body, headers))

    def download(self, url: str) -> bytes:
        """What is at a URL of the server."""
        return self._content("GET", url[url.index("/", len("http://")) :], None, {})

    def _content(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> bytes:
        lengths = {} if body is None else {"Content-Length": str(len(body))}
        head = request_head(method, path, {"Host": self._host, **headers, **lengths})
        self._connection.sendall(head + (body or b""))
        reply = read_reply(method, self._incoming)
        assert reply.status == 200, reply.body
        return reply.body

    def close(self) -> None:
        """Close the connection."""
        self._incoming.close()
        self._connection.close()


def plain(value: Any) -> Any:
    """A value of a reply; long texts are told by their length and digest."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, str) and len(value) > LONG_TEXT_LENGTH:
        return f"{len(value)} {sha256(value.encode()).hexdigest()[:16]}"
    return value


def seen_streams(client: Client) -> dict[str, Any]:
    """Each stream by its ARN: its description and the records of each shard."""
    found = {}
    for stream in client.streams("ListStreams")["Streams"]:
        arn = stream["StreamArn"]
        description = client.streams("DescribeStream", StreamArn=arn)["StreamDescription"]
        assert description.get("LastEvaluatedShardId") is None
        records = {one["ShardId"]: shard_records(client, arn, one["ShardId"]) for one in description["Shards"]}
        found[arn] = {"description": plain(description), "records": plain(records)}
    return found


def shard_records(client: Client, arn: str, shard_id: str) -> list[Any]:
    """All records of a shard."""
    members = {"StreamArn": arn, "ShardId": shard_id, "ShardIteratorType": "TRIM_HORIZON"}
    iterator = client.streams("GetShardIterator", **members)["ShardIterator"]
    records: list[Any] = []
    while iterator is not None:
        reply = client.streams("GetRecords", ShardIterator=iterator)
        records += reply["Records"]
        iterator = reply.get("NextShardIterator") if reply["Records"] else None
    return records


def seen_tables(client: Client) -> dict[str, Any]:
    """The items of each table, and the members of its description that a start does not change."""
    found = {}
    for name, told in described_tables(client):
        destinations = client.dynamodb("DescribeKinesisStreamingDestination", TableName=name)
        found[name] = {
            "count": told["ItemCount"],
            "bytes": told["TableSizeBytes"],
            "stream": told.get("LatestStreamArn"),
            "items": scanned(client, TableName=name),
            "time to live": client.dynamodb("DescribeTimeToLive", TableName=name)["TimeToLiveDescription"],
            "destinations": destinations["KinesisDataStreamDestinations"],
        }
    return found


def seen_indexes(client: Client) -> dict[str, Any]:
    """The items of each index of each table."""
    return {
        f"{name}/{index['IndexName']}": scanned(client, TableName=name, IndexName=index["IndexName"])
        for name, told in described_tables(client)
        for index in told.get("GlobalSecondaryIndexes", [])
    }


def described_tables(client: Client) -> list[tuple[str, Any]]:
    """Name and description of each table."""
    names = client.dynamodb("ListTables")["TableNames"]
    return [(name, client.dynamodb("DescribeTable", TableName=name)["Table"]) for name in names]


def scanned(client: Client, **members: str) -> Any:
    """All items of a table or index, in the order of a Scan."""
    reply = client.dynamodb("Scan", **members)
    assert "LastEvaluatedKey" not in reply
    return plain(reply["Items"])


def seen_functions(client: Client) -> dict[str, Any]:
    """The code of the function that has some, and the mappings."""
    code = client.get("/2015-03-31/functions/packed")["Code"]
    mappings = client.get("/2015-03-31/event-source-mappings/")["EventSourceMappings"]
    return {
        "code of packed": sha256(client.download(code["Location"])).hexdigest(),
        "mappings": {one["UUID"]: one["State"] for one in mappings},
    }


def seen(database: Database, around: Surroundings) -> dict[str, Any]:
    """All that clients get from a database that has just started, and its index entries once they are due."""
    rest(database)
    with closing(Client(database)) as client:
        found = {
            "streams": seen_streams(client),
            "tables": seen_tables(client),
            "indexes": seen_indexes(client),
            "functions": {} if around.triggers is None else seen_functions(client),
            "kinesis": delivered(around),
            "triggered": plain(around.watch.records),
        }
        database.clock.advance(INDEX_DELAY_SECONDS)
        return found | {"indexes later": seen_indexes(client)}


def as_lines(found: dict[str, Any]) -> str:
    """What was seen as JSON, a line for each stream, table, index and data stream."""
    parts = []
    for part, value in found.items():
        if isinstance(value, dict):
            members = [f"{json.dumps(name)}: {json.dumps(one)}" for name, one in sorted(value.items())]
            text = "{\n" + ",\n".join(members) + "\n}"
        else:
            text = json.dumps(value)
        parts.append(f"{json.dumps(part)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def delivered(around: Surroundings) -> dict[str, Any]:
    """The documents that each data stream has accepted, in order."""
    return {name: plain(around.kinesis.changes(name)) for name in DATA_STREAMS}


# --- the content ------------------------------------------------------------------------------------

Item = dict[str, Any]


class Author:
    """Writes the content."""

    def __init__(self, database: Database, around: Surroundings) -> None:
        self.database, self.around = database, around
        self.client = database.client()

    def create(self, table: str, keys: str, view: str | None, *, units: int | None = 5, **members: Any) -> None:
        """Create a table. `keys`: types of its keys. `units`: None is on demand."""
        names = ("pk", "sk")[: len(keys)]
        attributes = [{"AttributeName": name, "AttributeType": kind} for name, kind in zip(names, keys, strict=True)]
        schema = [{"AttributeName": n, "KeyType": k} for n, k in zip(names, ("HASH", "RANGE"), strict=False)]
        if view is not None:
            members["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": view}
        if units is None:
            members["BillingMode"] = "PAY_PER_REQUEST"
        else:
            members["ProvisionedThroughput"] = {"ReadCapacityUnits": units, "WriteCapacityUnits": units}
        if "GlobalSecondaryIndexes" in members:
            attributes.append({"AttributeName": "colour", "AttributeType": "S"})
        self.client.create_table(TableName=table, AttributeDefinitions=attributes, KeySchema=schema, **members)

    def put(self, table: str, pk: Item, sk: Item | None = None, **attributes: Item) -> None:
        """Put an item."""
        keys = {"pk": pk} if sk is None else {"pk": pk, "sk": sk}
        self.client.put_item(TableName=table, Item={**keys, **attributes})

    def delete(self, table: str, pk: Item, sk: Item | None = None) -> None:
        """Delete an item."""
        self.client.delete_item(TableName=table, Key={"pk": pk} if sk is None else {"pk": pk, "sk": sk})

    def enable(self, table: str, data_stream: str, precision: str | None = None) -> None:
        """Add a destination, if this source has them."""
        if HAS_OTHERS:
            members = {} if precision is None else {"ApproximateCreationDateTimePrecision": precision}
            self.client.enable_kinesis_streaming_destination(
                TableName=table,
                StreamArn=arn_of(data_stream),
                **({"EnableKinesisStreamingConfiguration": members} if members else {}),
            )

    def transact(self, *puts: tuple[str, str, str]) -> None:
        """Put items of the tables with partition keys of type S in one transaction: (table, key, value of v)."""
        self.client.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": table, "Item": {"pk": {"S": key}, "v": {"N": v}}}} for table, key, v in puts
            ]
        )

    def advance(self, seconds: float) -> None:
        """Move service time."""
        self.database.clock.advance(seconds)


def arn_of(data_stream: str) -> str:
    """ARN of a Kinesis data stream."""
    return f"arn:aws:kinesis:us-east-1:000000000000:stream/{data_stream}"


def global_index(projection: str, units: int | None = 5) -> dict[str, Any]:
    """Members of a table with an index by colour."""
    index: dict[str, Any] = {
        "IndexName": "by-colour",
        "KeySchema": [{"AttributeName": "colour", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": projection},
    }
    if units is not None:
        index["ProvisionedThroughput"] = {"ReadCapacityUnits": units, "WriteCapacityUnits": units}
    return {"GlobalSecondaryIndexes": [index]}


def create_first(author: Author) -> None:
    """Create the tables whose streams and feeds lose their first shards by age."""
    author.create("both", "S", "NEW_AND_OLD_IMAGES", **global_index("KEYS_ONLY"))
    author.create("expiring", "SN", "OLD_IMAGE")
    author.create("deleted", "S", "NEW_IMAGE")
    author.client.update_time_to_live(
        TableName="expiring", TimeToLiveSpecification={"Enabled": True, "AttributeName": "until"}
    )
    author.enable("both", "both-changes", "MICROSECOND")
    author.advance(1)


def create_others(author: Author) -> None:
    """Create the other tables, on demand or provisioned, with their streams and destinations."""
    create = author.create
    create("strings", "S", "NEW_AND_OLD_IMAGES", units=None, **global_index("ALL", None))
    create("numbers", "NN", "KEYS_ONLY", units=1500)
    create("binaries", "BB", "NEW_IMAGE")
    create("keys", "S", "KEYS_ONLY")
    create("feed", "S", None, **global_index("ALL"))
    create("wide", "S", "NEW_AND_OLD_IMAGES", units=None)
    create("switched", "S", "NEW_IMAGE")
    create("again", "S", None)
    create("gone", "S", "NEW_IMAGE")
    create("triggered", "S", "NEW_AND_OLD_IMAGES")
    create("plain", "SS", None, units=None)
    author.enable("keys", "keys-changes")
    author.enable("feed", "feed-changes", "MILLISECOND")
    author.enable("wide", "wide-changes")
    author.enable("again", "again-changes")
    author.enable("gone", "gone-changes")
    author.advance(1)


def write_round(author: Author, name: str) -> None:
    """Insert, modify and remove items of most tables; `name` is part of the keys."""
    put, delete = author.put, author.delete
    for number in range(6):
        put("strings", {"S": f"{name}{number}"}, colour={"S": ("red", "green")[number % 2]}, v={"N": str(number)})
    put("strings", {"S": f"{name}0"}, colour={"S": "blue"}, numbers={"NS": ["10", "9", "-1.5", "1e3"]})
    put("strings", {"S": f"{name}1"}, v={"N": "7"}, m={"M": {"l": {"L": [{"BOOL": True}, {"NULL": True}]}}})
    delete("strings", {"S": f"{name}2"})
    author.advance(0.25)
    for key in ("1", "-20", "3.5", "1e30"):
        put("numbers", {"N": key}, {"N": "0"}, v={"S": name})
    put("numbers", {"N": "1"}, {"N": "0"}, v={"S": f"{name} again"})
    delete("numbers", {"N": "-20"}, {"N": "0"})
    put("binaries", {"B": b"\x00" + name.encode()}, {"B": b"\xff"}, v={"BS": [b"a", b"\x80"]})
    put("binaries", {"B": b"\x00" + name.encode()}, {"B": b"\xff"}, v={"BS": [b"b"]})
    write_simple(author, name, "both", "keys", "feed", "again", "switched", "triggered")
    transact_round(author, name)
    author.advance(0.5)


def write_simple(author: Author, name: str, *tables: str) -> None:
    """Insert, modify and remove items of tables with a partition key of type S, and of the one whose items expire."""
    put = author.put
    put("expiring", {"S": name}, {"N": "1"}, v={"S": "stays"})
    put("expiring", {"S": name}, {"N": "2"}, until={"N": str(int(author.database.clock.now()) + 30)})
    put("expiring", {"S": name}, {"N": "1"}, v={"S": "stays still"})
    for table in tables:
        put(table, {"S": f"{name}x"}, colour={"S": "red"}, v={"N": "1"})
        put(table, {"S": f"{name}y"}, colour={"S": "green"}, v={"N": "2"})
        put(table, {"S": f"{name}x"}, colour={"S": "green"}, v={"N": "3"})
        author.delete(table, {"S": f"{name}y"})
        author.advance(0.001)


def transact_round(author: Author, name: str) -> None:
    """Commit over tables with a stream, with a destination, and with both, so that different changes, also of one
    table, have the same sequence number in a stream and in a feed.
    """
    transact = author.transact
    transact(("strings", f"{name}t", "1"), ("both", f"{name}t", "2"), ("feed", f"{name}t", "3"))
    transact(("feed", f"{name}u", "4"), ("keys", f"{name}u", "5"), ("switched", f"{name}u", "6"))
    transact(("both", f"{name}t", "7"), ("both", f"{name}v", "8"), ("feed", f"{name}v", "9"))
    author.advance(0.002)
    transact(("strings", f"{name}w", "10"), ("both", f"{name}w", "11"), ("both", f"{name}z", "12"))
    author.advance(0.002)
    transact(("feed", f"{name}w", "13"), ("both", f"{name}w", "14"), ("both", f"{name}z", "15"))
    transact(("keys", f"{name}w", "16"), ("feed", f"{name}w", "17"), ("keys", f"{name}z", "18"))
    author.advance(0.002)
    author.client.batch_write_item(
        RequestItems={
            table: [{"PutRequest": {"Item": {"pk": {"S": f"{name}b{number}"}}}} for number in range(3)]
            for table in ("feed", "both", "strings")
        }
    )


def write_large(author: Author, name: str, count: int) -> None:
    """Put large items, which are stored packed; partitions that grow too large split."""
    for number in range(count):
        text = f"{name} {number} is a long text that packs well. " * 900
        author.put("wide", {"S": f"{name}{number}"}, text={"S": text})
    author.put("wide", {"S": f"{name}0"}, text={"S": "short"}, v={"N": "1"})
    author.advance(0.1)


def switch(author: Author) -> None:
    """Switch a stream off, and another one on."""
    update = author.client.update_table
    update(TableName="switched", StreamSpecification={"StreamEnabled": False})
    author.put("switched", {"S": "unseen"})
    author.advance(2)
    update(
        TableName="switched",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )
    author.put("switched", {"S": "seen again"}, v={"N": "1"})
    author.put("switched", {"S": "seen again"}, v={"N": "2"})
    author.advance(1)


def enable_again(author: Author) -> None:
    """Disable a destination that has undelivered changes, and enable it again."""
    if HAS_OTHERS:
        author.client.disable_kinesis_streaming_destination(TableName="again", StreamArn=arn_of("again-changes"))
        author.put("again", {"S": "undelivered"})
        author.advance(5)
        author.put("again", {"S": "unsent"})
        author.enable("again", "again-changes")
        author.advance(5)
        author.put("again", {"S": "sent"}, v={"N": "1"})


def change_precision(author: Author) -> None:
    """Change the precision of a destination that has undelivered changes."""
    if HAS_OTHERS:
        author.client.update_kinesis_streaming_destination(
            TableName="keys",
            StreamArn=arn_of("keys-changes"),
            UpdateKinesisStreamingConfiguration={"ApproximateCreationDateTimePrecision": "MICROSECOND"},
        )
        author.advance(1)


def create_function(author: Author) -> None:
    """Create a function whose code is a document of more than 64 KB."""
    if HAS_OTHERS:
        code = io.BytesIO()
        with zipfile.ZipFile(code, "w") as archive:
            archive.writestr(
                zipfile.ZipInfo("index.py"), "def handler(event, context): pass\n" + "# padding\n" * 10_000
            )
        author.database.client("lambda").create_function(
            FunctionName="packed",
            Runtime="python3.12",
            Role="arn:aws:iam::000000000000:role/handlers",
            Handler="index.handler",
            Code={"ZipFile": code.getvalue()},
        )


def fill(database: Database, around: Surroundings) -> None:
    """Write the content, over 31 hours of service time."""
    author = Author(database, around)
    create_first(author)
    write_simple(author, "a", "both", "deleted")
    author.advance(25 * HOUR_SECONDS)  # the first shards are gone
    create_others(author)
    create_function(author)
    write_simple(author, "late", "deleted")
    author.advance(60)
    author.client.delete_table(TableName="deleted")
    write_round(author, "b")
    write_large(author, "b", 3)
    author.advance(1)
    around.let_kinesis_fail(fails=True)
    write_round(author, "c")
    write_large(author, "c", 6)
    write_simple(author, "c", "gone")
    author.advance(60)
    author.client.delete_table(TableName="gone")
    author.advance(5 * HOUR_SECONDS)
    database.restore(database.snapshot())  # the numbers of what follows are greater, which a row of its own says
    change_precision(author)
    write_large(author, "d", 2)
    switch(author)
    enable_again(author)
    author.put("triggered", {"S": "handled"})
    author.advance(1)
    around.watch.fails = True
    write_round(author, "d")
    author.put("expiring", {"S": "waits"}, {"N": "1"}, until={"N": str(int(database.clock.now()) + 2 * 3600)})
    author.advance(1)


def main(name: str) -> None:
    """Write `name`.snapshot and `name`.json."""
    with still_time(START_SECONDS):
        with (
            surroundings() as around,
            started(around.settings(partition_size_bytes=PARTITION_BYTES, initial_partitions="service")) as database,
        ):
            fill(database, around)
            database.snapshot().save(name + ".snapshot")
        with surroundings() as around, started(around.settings(), Path(name + ".snapshot")) as database:
            found = seen(database, around)
    Path(name + ".json").write_text(as_lines(found), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
