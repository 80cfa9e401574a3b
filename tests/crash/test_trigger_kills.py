"""The server, killed while it delivers: no record is skipped, each item's come in order,
and no handler outlives the server.

Handlers write what they get into files that outlive the server. A line is synced before the handler returns,
so a kill when the line appears comes between the delivery and its checkpoint.
`HASHRANGE_SOAK` sets how often the server is killed.
"""

import json
import random
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from threading import Semaphore, Thread
from typing import NamedTuple
from urllib.error import HTTPError

import pytest

from hashrange.limits import SHARD_SECONDS
from hashrange.store.embedded.check import check_store
from tests.crash.harness import ROUNDS
from tests.support.function_servers import FunctionServer
from tests.support.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")

KILLS = max(3, ROUNDS // 8)
WRITERS = 3
KEYS_PER_WRITER = 4
BAD_EVERY, UNWANTED_EVERY = 11, 5
DESTINATION = "arn:aws:sqs:us-east-1:000000000000:failed"
HANDLER = """
import json, os

def handler(event, context):
    records = [
        (record["dynamodb"]["NewImage"]["pk"]["S"], int(record["dynamodb"]["NewImage"]["n"]["N"]),
         record["dynamodb"]["SequenceNumber"], "bad" in record["dynamodb"]["NewImage"])
        for record in event["Records"]
    ]
    has_bad = any(record[3] for record in records)
    fails = has_bad and FAILS
    if not fails or len(records) == 1:
        lines = [json.dumps([os.getppid(), *record[:3], fails]) + "\\n" for record in records]
        file = os.open("PATH", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, "".join(lines).encode())
        os.fsync(file)
        os.close(file)
    if fails:
        raise ValueError("a bad record")
"""
CONFIGURATION = f"""
[functions.declared]
code = "CODE"
handler = "app.handler"
timeout = {PATIENCE_SECONDS:.0f}

[[mapping]]
table = "numbers"
function = "declared"
batch_size = 7
filters = ['{{"dynamodb": {{"NewImage": {{"unwanted": {{"N": [{{"exists": false}}]}}}}}}}}']
bisect_batch_on_function_error = true
maximum_retry_attempts = 0
on_failure = "{DESTINATION}"

[destinations]
"{DESTINATION}" = {{ file = "FAILED" }}
"""


class Delivered(NamedTuple):
    """One record that a handler has seen."""

    server: int
    key: str
    number: int
    sequence: str
    has_failed: bool


def is_bad(number: int) -> bool:
    """True for items on whose records the declared function fails."""
    return number % BAD_EVERY == 0


def is_unwanted(number: int) -> bool:
    """True for items whose records the declared mapping filters out."""
    return number % UNWANTED_EVERY == 0 and not is_bad(number)


def put(server: FunctionServer, key: str, number: int) -> None:
    """Put an item."""
    marks = {"bad": 1} if is_bad(number) else {"unwanted": 1} if is_unwanted(number) else {}
    server.put("numbers", key, n=number, **marks)


class Writer(Thread):
    """Puts the numbers 1, 2, 3 … into each of its items; keeps the last one that was acknowledged for each."""

    def __init__(self, server: FunctionServer, last: dict[str, int], answered: Semaphore) -> None:
        super().__init__()
        self._server, self._answered = server, answered
        self.last = last
        self.start()

    def run(self) -> None:
        try:
            while True:
                for key in self.last:
                    self._write(key, self.last[key] + 1)
                    self._answered.release()
        except (OSError, AssertionError):
            pass
        except Exception as error:
            if type(error).__name__ not in {"IncompleteRead", "RemoteDisconnected", "BadStatusLine"}:
                raise

    def _write(self, key: str, number: int) -> None:
        put(self._server, key, number)
        self.last[key] = number


class World:
    """Everything that outlives the server."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data_dir = folder / "data"
        self.files = {name: folder / f"{name}.jsonl" for name in ("declared", "stored")}
        self.failed = folder / "failed.jsonl"
        code = folder / "code"
        code.mkdir()
        (code / "app.py").write_text(self.handler("declared", fails=True))
        self.configuration = folder / "triggers.toml"
        text = CONFIGURATION.replace("CODE", str(code)).replace("FAILED", str(self.failed))
        self.configuration.write_text(text)

    def handler(self, name: str, *, fails: bool) -> str:
        """The code of a handler."""
        return HANDLER.replace("PATH", str(self.files[name])).replace("FAILS", str(fails))

    def start(self) -> FunctionServer:
        """Start the server."""
        self.server = FunctionServer(self.folder, "--triggers", str(self.configuration), data_dir=self.data_dir)
        return self.server

    def delivered(self, name: str) -> list[Delivered]:
        """What a function has seen so far; the last line may be unfinished."""
        if not self.files[name].exists():
            return []
        whole, _, _ = self.files[name].read_text().rpartition("\n")
        return [Delivered(*json.loads(line)) for line in whole.splitlines()]

    def size(self) -> int:
        """Bytes that handlers have written."""
        return sum(path.stat().st_size for path in self.files.values() if path.exists())

    def reported(self) -> set[str]:
        """Sequence numbers that the destination knows of."""
        found = set()
        for line in self.failed.read_text().splitlines() if self.failed.exists() else []:
            try:
                batch = json.loads(line)["DDBStreamBatchInfo"]
            except ValueError:
                continue  # the server was killed while it wrote this line
            assert batch["batchSize"] == 1
            assert batch["startSequenceNumber"] == batch["endSequenceNumber"]
            found.add(batch["startSequenceNumber"])
        return found


def expected(name: str, last: int) -> list[int]:
    """The numbers of an item whose records reach a function."""
    return [number for number in range(1, last + 1) if name == "stored" or not is_unwanted(number)]


def faults(name: str, delivered: list[Delivered], last: dict[str, int]) -> Iterator[str]:
    """What is wrong with the deliveries of a function: skipped, out of order, or repeated without a kill."""
    by_key: dict[str, list[Delivered]] = defaultdict(list)
    for one in delivered:
        by_key[one.key].append(one)
    for key, number in last.items():
        wanted = expected(name, number + 1)
        furthest = -1
        servers: dict[int, int] = {}
        for one in by_key[key]:
            if one.number not in wanted:
                yield f"{name}: {key} has no record {one.number} for it"
                continue
            place = wanted.index(one.number)
            before = servers.get(one.server)
            if place > furthest + 1 if before is None else place != before + 1:
                yield f"{name}: {key}: {one.number} follows {None if before is None else wanted[before]}"
            if one.has_failed != (is_bad(one.number) and name == "declared"):
                yield f"{name}: {key}: {one.number} is not what it should be"
            servers[one.server] = place
            furthest = max(furthest, place)
        if furthest < len(expected(name, number)) - 1:
            yield f"{name}: {key}: {number} was acknowledged, {furthest + 1} records were delivered"


def split(server: FunctionServer) -> None:
    """Divide a partition of the table, unless each holds one item only."""
    try:
        server.administer("tables/numbers/split")
    except HTTPError as error:
        assert error.code == 409
        error.close()


def kill(world: World, server: FunctionServer, chance: random.Random, answered: Semaphore) -> None:
    """Kill the server at a random moment, mostly just when a handler has seen records,
    and perhaps soon after a split.
    """
    for _ in range(chance.randint(1, 80)):
        assert answered.acquire(timeout=PATIENCE_SECONDS)
    if chance.random() < 0.5:
        split(server)
    if chance.random() < 0.75:
        size_bytes = world.size()
        wait_until(lambda: world.size() > size_bytes)
    server.kill()
    wait_until(lambda: not server.environments())


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A world whose last server has ended."""
    world = World(tmp_path)
    yield world
    if world.server.process.poll() is None:
        world.server.kill()


def test_deliveries_of_a_server_that_is_killed(world: World) -> None:
    chance = random.Random(11)
    last = {f"w{writer}k{number}": 0 for writer in range(WRITERS) for number in range(KEYS_PER_WRITER)}
    server = world.start()
    stream_arn = server.make_table("numbers")
    server.create("stored", world.handler("stored", fails=False))
    server.map("stored", stream_arn, BatchSize=5, ParallelizationFactor=3)
    for _ in range(KILLS):
        if chance.random() < 0.5:
            server.administer("clock/advance", {"seconds": SHARD_SECONDS})
        answered = Semaphore(0)
        keys = [dict(list(last.items())[start::WRITERS]) for start in range(WRITERS)]
        writers = [Writer(server, some, answered) for some in keys]
        kill(world, server, chance, answered)
        for writer in writers:
            writer.join()
            last |= writer.last
        server = world.start()
        last |= present_numbers(server, last)
    finish(world, server, last)
    assert check_store(str(world.data_dir)).faults == []


def present_numbers(server: FunctionServer, last: dict[str, int]) -> dict[str, int]:
    """The numbers that the items have: those that were acknowledged, or one more."""
    found = {}
    for key, number in last.items():
        reply = server.call("GetItem", {"TableName": "numbers", "Key": {"pk": {"S": key}}, "ConsistentRead": True})
        found[key] = int(reply.json()["Item"]["n"]["N"]) if "Item" in reply.json() else 0
        assert number <= found[key] <= number + 1
    return found


def finish(world: World, server: FunctionServer, last: dict[str, int]) -> None:
    """Wait until all has been delivered, stop the server, and judge."""
    for key, number in last.items():  # the last records of all are neither bad nor unwanted
        while is_bad(last[key]) or is_unwanted(last[key]):
            last[key] += 1
            put(server, key, last[key])
        assert last[key] - number < 3
    for name in world.files:
        wait_until(
            lambda name=name: (  # type: ignore[misc]
                {(one.key, one.number) for one in world.delivered(name)} >= set(last.items())
            )
        )
    failed = {one.sequence for one in world.delivered("declared") if one.has_failed}
    wait_until(lambda: world.reported() >= failed)
    assert server.environments()
    server.stop()
    assert not server.environments()
    assert server.process.returncode == 0
    assert not server.code_folders()
    for name in world.files:
        assert list(faults(name, world.delivered(name), last)) == []
    assert world.reported() == failed
    assert failed
