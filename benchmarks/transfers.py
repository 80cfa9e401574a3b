"""How many items per second does a table's export to S3 write, and an import read, on one core, and how much memory
does an import take? `python -m benchmarks.transfers`.

The S3 is in this process: it takes exports without keeping them, and makes up what is imported as it is read. So what
is measured is Hashrange's own work, as CPU time of the process. Items have about 400 bytes.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterable, Coroutine
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from hashrange.items.rows import encode_row
from hashrange.items.values import check_item
from hashrange.s3.objects import NO_OPTIONS, ObjectInfo, ObjectOptions
from hashrange.settings import Settings
from hashrange.store.row_copies import row_copies_of
from hashrange.tables.schema import Recovery
from hashrange.testing import Database, server
from hashrange.transfers.feature import TRANSFERS

BUCKET, TABLE = "bucket", "items"
CREATION: dict[str, Any] = {
    "TableName": TABLE,
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}
CHUNK_BYTES = 1024 * 1024
LOAD_ITEMS = 500
POLL_SECONDS = 0.2
WORDS = 500
REST_SECONDS = 0.5
RESTING = (
    ("rocksdb.num-entries-active-mem-table", 500),
    ("rocksdb.num-files-at-level0", 0),
    ("rocksdb.num-running-compactions", 0),
    ("rocksdb.num-running-flushes", 0),
)
"""Properties of the engine, and the most that they are once it has merged what was written."""
NO_ENDPOINT = "http://127.0.0.1:9"
"""Nothing asks it."""


class MadeUp:
    """An S3 without content: what is written is counted, what is read is made up."""

    def __init__(self, chunk: bytes, chunks: int) -> None:
        """`chunk`: lines of items, each with `00000000` in its key for a number; an object has this many chunks."""
        self._chunk, self._chunks = chunk, chunks
        self.written_bytes = 0

    async def list_objects(self, bucket: str, prefix: str, *, owner: str = "") -> AsyncGenerator[ObjectInfo, None]:
        """One object."""
        yield ObjectInfo("object", self._chunks * len(self._chunk), "")

    async def read(
        self, bucket: str, key: str, start: int = 0, *, etag: str = "", owner: str = ""
    ) -> AsyncGenerator[bytes, None]:
        """Chunks that differ in the keys of their items."""
        for number in range(self._chunks):
            yield self._chunk.replace(b"00000000", b"%08d" % number)

    async def write(
        self,
        bucket: str,
        key: str,
        chunks: AsyncIterable[bytes],
        options: ObjectOptions = NO_OPTIONS,
        *,
        owner: str = "",
    ) -> str:
        """Takes the chunks."""
        async for chunk in chunks:
            self.written_bytes += len(chunk)
        return ""

    async def close(self) -> None:
        """Nothing is open."""


class Measured(NamedTuple):
    """A figure."""

    items: int
    seconds: float
    cpu_seconds: float


def make_item(number: str, chance: random.Random, words: list[str]) -> dict[str, Any]:
    """An item of about 400 bytes."""
    return {
        "id": {"S": number},
        "name": {"S": " ".join(chance.choices(words, k=6))},
        "about": {"S": " ".join(chance.choices(words, k=30))},
        "count": {"N": str(chance.randrange(1_000_000))},
        "is_new": {"BOOL": True},
    }


def made_words(chance: random.Random) -> list[str]:
    return ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=8)) for _ in range(WORDS)]


def on_loop(database: Database, work: Coroutine[Any, Any, Any]) -> Any:
    """The result of work on the database's loop."""
    return asyncio.run_coroutine_threadsafe(work, database._process._loop).result()  # noqa: SLF001 - it has no other


async def fill(database: Database, items: int) -> None:
    """Put items into the table, and switch its recovery on."""
    store = database._process.service.store  # noqa: SLF001 - a client would take minutes
    table = store.catalog.find("000000000000", "us-east-1", TABLE)
    assert table is not None
    chance = random.Random(1)
    words = made_words(chance)
    for start in range(0, items, LOAD_ITEMS):
        rows = {}
        for number in range(start, start + LOAD_ITEMS):
            item, size_bytes = check_item(make_item(f"item-{number}", chance, words))
            rows[table.item_key(item)] = encode_row(item, size_bytes)
        await row_copies_of(store).load(table, rows)
        await asyncio.sleep(0)
    recovery = Recovery(database._process.service.clock.service_time(), 35)  # noqa: SLF001 - as above
    await store.catalog.replace(table.schema, msgspec.structs.replace(table.schema, recovery=recovery))


def wait_for_rest(database: Database) -> None:
    """Wait until the engine has merged what was written, which is no part of an export."""
    engine = database._process.service.store.engine  # type: ignore[attr-defined]  # noqa: SLF001 - nobody else has it
    time.sleep(REST_SECONDS)
    while any((engine.property_int_value(name) or 0) > most for name, most in RESTING):
        time.sleep(REST_SECONDS)


async def give_s3(database: Database, made_up: MadeUp) -> None:
    """Let the database use this S3 instead of that of its settings."""
    database._process.service.features.part(TRANSFERS).s3 = lambda _: made_up  # noqa: SLF001 - it has no other


def export(folder: str | None, items: int) -> Measured:
    """Export a table of so many items."""
    with server(Settings(data_dir=folder, port=0, s3_endpoint=NO_ENDPOINT)) as database:
        on_loop(database, give_s3(database, MadeUp(b"", 0)))
        client: Any = database.client()
        client.create_table(**CREATION)
        on_loop(database, fill(database, items))
        wait_for_rest(database)
        arn = client.describe_table(TableName=TABLE)["Table"]["TableArn"]
        began, cpu_began = time.perf_counter(), time.process_time()
        begun = client.export_table_to_point_in_time(TableArn=arn, S3Bucket=BUCKET)["ExportDescription"]
        while True:
            told = client.describe_export(ExportArn=begun["ExportArn"])["ExportDescription"]
            if told["ExportStatus"] != "IN_PROGRESS":
                break
            time.sleep(POLL_SECONDS)
        assert told["ItemCount"] == items, told
        return Measured(items, time.perf_counter() - began, time.process_time() - cpu_began)


def import_made_up(folder: str | None, gigabytes: float) -> tuple[Measured, int]:
    """Import so much text. Returns also the most memory of the process meanwhile, in bytes, above that before."""
    chance = random.Random(2)
    words = made_words(chance)
    lines: list[bytes] = []
    size_bytes = 0
    while size_bytes < CHUNK_BYTES:
        item = make_item(f"00000000-{len(lines)}", chance, words)
        lines.append(msgspec.json.encode({"Item": item}) + b"\n")
        size_bytes += len(lines[-1])
    chunks = max(1, round(gigabytes * 1e9 / size_bytes))
    with server(Settings(data_dir=folder, port=0, s3_endpoint=NO_ENDPOINT)) as database:
        on_loop(database, give_s3(database, MadeUp(b"".join(lines), chunks)))
        client: Any = database.client()
        request = {"S3BucketSource": {"S3Bucket": BUCKET}, "InputFormat": "DYNAMODB_JSON"}
        most_bytes = before_bytes = memory_bytes()
        began, cpu_began = time.perf_counter(), time.process_time()
        begun = client.import_table(**request, TableCreationParameters=CREATION)["ImportTableDescription"]
        while True:
            told = client.describe_import(ImportArn=begun["ImportArn"])["ImportTableDescription"]
            most_bytes = max(most_bytes, memory_bytes())
            if told["ImportStatus"] != "IN_PROGRESS":
                break
            time.sleep(POLL_SECONDS)
        count = told["ImportedItemCount"]
        assert count == chunks * len(lines), told
        measured = Measured(count, time.perf_counter() - began, time.process_time() - cpu_began)
        return measured, most_bytes - before_bytes


def memory_bytes() -> int:
    """Resident memory of this process; 0 where it cannot be found out."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096
    except OSError:
        return 0


def show(name: str, measured: Measured) -> None:
    by_cpu, by_clock = measured.items / measured.cpu_seconds, measured.items / measured.seconds
    print(f"{name}: {by_cpu:,.0f} items per second of CPU, {by_clock:,.0f} by the clock ({measured.items:,} items)")


def main(arguments: list[str]) -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=200_000, help="items that are exported")
    parser.add_argument("--gigabytes", type=float, default=0.1, help="text that is imported")
    given = parser.parse_args(arguments)
    items = given.items // LOAD_ITEMS * LOAD_ITEMS
    with tempfile.TemporaryDirectory() as folder:
        show("export, in memory", export(None, items))
        show("export, on disk", export(f"{folder}/export", items))
        measured, most_bytes = import_made_up(f"{folder}/import", given.gigabytes)
        show("import, on disk", measured)
        print(f"import, on disk: at most {most_bytes / 1e6:,.0f} MB of memory more than before")


if __name__ == "__main__":
    main(sys.argv[1:])
