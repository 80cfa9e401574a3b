"""A store that is killed at any step between commit, log, follower and checkpoint, or whose engine refuses that step
once: whoever reads a stream or feed gets every change once, and index entries are right in the end.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hashrange.errors import ApiError
from hashrange.items.rows import decode_row
from hashrange.jobs import store_jobs
from hashrange.settings import Settings
from hashrange.store.embedded import commits, layout
from hashrange.store.embedded.check import check_store
from hashrange.store.embedded.reading import scan_prefix
from hashrange.tables.stream_records import split_record
from tests.support.kills import copy_as_killed
from tests.unit.jobs.streaming import DAY, HOUR, switch_off, switch_on
from tests.unit.jobs.world import World, drive, item
from tests.unit.store.test_feeds import ARN, conclude, enable

DELAY_SECONDS = 5.0
PARTITION_BYTES = 1_500
SLICE_CHANGES = 2
WRITES = {"write", "put", "delete", "delete_range"}
STEPS_MAX = 200
Step = Callable[[], object]


class Killed(BaseException):
    """Nothing catches it, as nothing catches a kill."""


class EngineOnce:
    """`engine`, which raises an exception once in place of one of its writes."""

    def __init__(self, engine: Any, writes: int, error: BaseException) -> None:
        """`writes`: how many are done before."""
        self._engine = engine
        self._left = writes
        self._error = error
        self.has_raised = False

    def __getattr__(self, name: str) -> Any:
        if name in WRITES:
            self._left -= 1
            if self._left == -1:
                self.has_raised = True
                raise self._error
        return getattr(self._engine, name)


class Run:
    """A world, and what readers of its streams have got, with their checkpoints."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.world = World(folder / "data", index_delay=lambda: DELAY_SECONDS, partition_size_max_bytes=PARTITION_BYTES)
        self.allow()
        self.world.create()
        self.world.finish()
        self.positions: dict[tuple[int, int], int] = {}
        self.seen: defaultdict[tuple[int, str], list[Any]] = defaultdict(list)
        """Stream id, key of an item → its changes as they were shown."""
        self.entries: list[Any] = []
        """What the index has shown."""

    def allow(self) -> None:
        self.world.scope.settings = msgspec.structs.replace(Settings(), kinesis_endpoint="http://127.0.0.1:1")

    def go_on(self, writes: int | None = None, error: BaseException | None = None) -> bool:
        """Do all steps. After `writes` writes the engine raises `error`; if that kills the store, the step is repeated,
        unless it had been done. Returns True if the engine has raised it.
        """
        site, engine = self.world.embedded.site, self.world.embedded.engine
        once = EngineOnce(engine, writes or 0, error) if error is not None else None
        if once is not None:
            site.engine = once
        for step in self.steps():
            try:
                step()
            except Killed:
                site.engine = engine
                self.reopen()
                with suppress(ApiError):
                    step()
        if site.engine is once:
            site.engine = engine
        return once is not None and once.has_raised

    def reopen(self) -> None:
        killed, data_dir = self.world.embedded, Path(self.world.data_dir or "")
        for copy in ("killed", "checked"):
            copy_as_killed(data_dir, self.folder / copy)
        assert check_store(str(self.folder / "checked"), clock=self.world.clock).faults == []
        self.world.data_dir = str(self.folder / "killed")
        self.world.open()
        self.allow()
        killed.close_now()

    def put(self, numbers: range, value: int, size_bytes: int = 0) -> Iterator[Step]:
        for number in numbers:
            new = item(number) | {"status": {"S": f"s{value}"}, "pad": {"S": "x" * size_bytes}}
            yield lambda new=new: self.world.ask("PutItem", Item=new)  # type: ignore[misc]

    def steps(self) -> Iterator[Step]:
        """Each may be done again."""
        world = self.world
        yield lambda: switch_on(self.world, "NEW_IMAGE")
        yield lambda: enable(self.world)
        yield lambda: conclude(self.world, "ACTIVE")
        yield from self.put(range(5), 1, size_bytes=400)
        yield self.world.split
        yield self.read
        yield from self.put(range(1, 4), 2)
        yield lambda: self.world.request(
            "TransactWriteItems",
            TransactItems=[
                {"Put": {"TableName": "orders", "Item": item(7)}},
                {"Delete": {"TableName": "orders", "Key": {"id": {"S": "o3"}}}},
            ],
        )
        world.clock.advance(DELAY_SECONDS)
        yield self.world.apply
        yield self.look
        yield from self.put(range(2), 3)
        yield lambda: switch_off(self.world)
        yield self.read
        yield from self.put(range(2), 4)
        yield lambda: switch_on(self.world)
        world.clock.advance(5 * HOUR)
        yield self.world.tend
        yield from self.put(range(2), 5)
        yield self.world.apply
        yield lambda: self.world.ask("DisableKinesisStreamingDestination", StreamArn=ARN)
        yield from self.put(range(2), 6)
        yield self.read
        yield self.world.delete
        yield from self.put(range(1), 7)
        yield self.world.create
        yield self.world.finish
        yield from self.put(range(1, 3), 8)
        world.clock.advance(DAY + HOUR)
        yield self.world.tend
        yield self.world.apply
        yield self.look
        yield lambda: switch_off(self.world)
        yield self.read
        world.clock.advance(DAY + HOUR)
        yield self.world.tend
        yield self.world.apply

    def read(self) -> None:
        """Read all streams from the checkpoints on."""
        streams, scope = self.world.store.streams, self.world.scope
        for stream in [*streams.of(scope.account, scope.region), *streams.feeds()]:
            for shard in streams.shards(stream):
                place = stream.stream_id, shard.number
                page = drive(streams.records(shard, self.positions.get(place, 0), 1_000, 10**7))
                for sequence, row in page.records:
                    record = split_record(row)
                    key = msgspec.json.decode(record.keys_json)["id"]["S"]
                    images = [None if one is None else decode_row(one) for one in (record.old, record.new)]
                    self.seen[stream.stream_id, key].append((record.event, *images))
                    self.positions[place] = sequence + 1

    def look(self) -> None:
        self.entries.append(self.world.entries())

    def told(self) -> tuple[Any, ...]:
        """What readers and clients have got; nothing is left in the logs."""
        prefixes = layout.LOG_PREFIX, layout.WAITING_PREFIX, layout.SHARD_PREFIX
        assert [list(scan_prefix(self.world.embedded.engine, one)) for one in prefixes] == [[], [], []]
        items = {one["id"]["S"]: one for one in self.world.ask("Scan", ConsistentRead=True)["Items"]}
        assert self.world.entries() == items
        assert self.world.close() == []
        return dict(self.seen), self.entries, items


@pytest.fixture
def undisturbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, ...]:
    """What a run tells without any fault."""
    monkeypatch.setattr(store_jobs, "DELAY_SLICE_CHANGES", SLICE_CHANGES)
    run = Run(tmp_path / "undisturbed")
    run.go_on()
    told = run.told()
    assert [len(told[0][1, f"o{number}"]) for number in range(4)] == [2, 3, 2, 3]
    return told


def test_a_kill_between_any_two_writes(tmp_path: Path, undisturbed: tuple[Any, ...]) -> None:
    for writes in range(STEPS_MAX):
        run = Run(tmp_path / str(writes))
        is_killed = run.go_on(writes, Killed())
        assert run.told() == undisturbed, f"after {writes} writes"
        if not is_killed:
            break
    assert 40 < writes < STEPS_MAX - 1


def test_a_write_that_the_engine_refuses_and_that_is_repeated(
    tmp_path: Path, undisturbed: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def no_wait(*_: object) -> None:
        pass

    monkeypatch.setattr(commits, "wait_out_stall", no_wait)
    for writes in range(STEPS_MAX):
        run = Run(tmp_path / str(writes))
        is_refused = run.go_on(writes, Exception("Incomplete: Write stall"))
        assert run.told() == undisturbed, f"after {writes} writes"
        if not is_refused:
            break
    assert 40 < writes < STEPS_MAX - 1
