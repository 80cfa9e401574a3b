"""What folders and snapshots of former formats hold is served as the source that wrote them served it, also when their
conversion was stopped on the way. tests/data/store/write.py made the files.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from hashrange.errors import StorageError
from hashrange.store.embedded import engine as engine_module
from hashrange.store.embedded import layout
from hashrange.store.embedded.check import check_store
from hashrange.store.embedded.engine import open_engine
from hashrange.store.embedded.former_formats import FORMER_DELAYS_PREFIX
from hashrange.store.embedded.layout import FORMAT_KEY, FORMAT_VERSION, PROBE_KEY
from hashrange.store.embedded.offline import format_version, read_offline
from hashrange.store.embedded.upgrade import check_format
from hashrange.store.snapshot_file import opened_snapshot
from hashrange.testing import Database
from tests.data.store.write import (
    DATA_STREAMS,
    Author,
    Client,
    Surroundings,
    delivered,
    plain,
    rest,
    seen,
    seen_streams,
    started,
    still_time,
    surroundings,
)

FILES = Path(__file__).parents[2] / "data" / "store"
NAMES = ["format-9-first", "format-9", "format-10", "format-11"]
WITH_DESTINATIONS = NAMES[1:]
WRITES = {"write", "put", "delete", "delete_range"}
STOPS_MAX = 100
HOUR_SECONDS = 3600.0

Records = dict[tuple[str, str], list[Any]]
"""Records by the ARN of their stream and by their shard."""


def snapshot_of(name: str) -> Path:
    return FILES / f"{name}.snapshot"


def told_of(name: str) -> dict[str, Any]:
    """What clients of the former source got; index entries that waited there are written when a store is opened."""
    told: dict[str, Any] = json.loads((FILES / f"{name}.json").read_text(encoding="utf-8"))
    return comparable({**told, "indexes": told["indexes later"]})


def comparable(found: dict[str, Any]) -> dict[str, Any]:
    """What is equal whenever clients get the same: shards of several partitions and lanes have no common order."""
    kinesis, triggered = found["kinesis"], found["triggered"]
    return {
        **found,
        "kinesis": {**kinesis, "wide-changes": by_item(kinesis["wide-changes"])},
        "triggered": {table: by_item(records) for table, records in by_table(triggered).items()},
    }


def by_table(records: list[Any]) -> dict[str, list[Any]]:
    """The records of the stream of each table, in order."""
    found: defaultdict[str, list[Any]] = defaultdict(list)
    for one in records:
        found[one["eventSourceARN"].split("/")[1]].append(one)
    return dict(found)


def by_item(documents: list[Any]) -> dict[str, list[Any]]:
    """The documents of each item, in order."""
    found: defaultdict[str, list[Any]] = defaultdict(list)
    for one in documents:
        found[one["dynamodb"]["Keys"]["pk"]["S"]].append(one)
    return dict(found)


def make_folder(name: str, data_dir: Path) -> float:
    """Make a data folder with the rows of a snapshot; returns the service time at which it was taken."""
    last_position = 0
    with opened_snapshot(snapshot_of(name)) as reader:
        engine = open_engine(str(data_dir))
        engine.delete(FORMAT_KEY)
        assert not list(engine.keys())
        for key, row in reader.rows():
            engine.put(key, row)
            if key.startswith(FORMER_DELAYS_PREFIX):
                last_position = layout.decode_counter(key[len(FORMER_DELAYS_PREFIX) :][: layout.NUMBER_BYTES])
        while engine.latest_sequence_number() < last_position:  # as that of the folder was whose rows these are
            engine.delete(PROBE_KEY)
        engine.close()
        return reader.header.service_time


@contextmanager
def served(name: str, data_dir: Path, seconds: float) -> Iterator[tuple[Database, Surroundings]]:
    """Serve a data folder that was made of a snapshot, at the service time at which that was taken."""
    with (
        still_time(seconds),
        surroundings(are_called=name in WITH_DESTINATIONS) as around,
        started(around.settings(data_dir=str(data_dir))) as database,
    ):
        yield database, around


@contextmanager
def served_snapshot(name: str, *, others_fail: bool = False) -> Iterator[tuple[Database, Surroundings]]:
    """Serve a snapshot at the service time at which it was taken. `others_fail`: Kinesis and the function do."""
    with still_time(0), surroundings(are_called=name in WITH_DESTINATIONS) as around:
        let_others_fail(around, fail=others_fail)
        with started(around.settings(), snapshot_of(name)) as database:
            yield database, around


def let_others_fail(around: Surroundings, *, fail: bool) -> None:
    around.let_kinesis_fail(fails=fail)
    around.watch.fails = fail


@pytest.mark.parametrize("name", NAMES)
def test_a_snapshot_is_served_as_before(name: str) -> None:
    with served_snapshot(name) as (database, around):
        assert comparable(seen(database, around)) == told_of(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_is_served_as_before_and_sound_before_and_after(name: str, tmp_path: Path) -> None:
    seconds = make_folder(name, tmp_path)
    assert check_store(str(tmp_path)).faults == []
    with read_offline(str(tmp_path)) as engine:
        assert format_version(engine) == int(name.split("-")[1])
    with served(name, tmp_path, seconds) as (database, around):
        assert comparable(seen(database, around)) == told_of(name)
    assert check_store(str(tmp_path)).faults == []
    with read_offline(str(tmp_path)) as engine:
        assert format_version(engine) == FORMAT_VERSION


class StoppingEngine:
    """`engine`, which fails instead of doing one of its writes."""

    def __init__(self, engine: Any, writes: int) -> None:
        """`writes`: how many are done before one fails."""
        self._engine = engine
        self._left = writes
        self.has_failed = False

    def __getattr__(self, name: str) -> Any:
        if name in WRITES:
            self.has_failed = self.has_failed or not self._left
            if self.has_failed:
                raise Exception("IO error: No space left on device")  # noqa: TRY002 - as the engine raises it
            self._left -= 1
        return getattr(self._engine, name)


def stops_after(writes: int, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Convert a folder, and stop after some writes; returns False if the conversion needs no more."""
    stopping: list[StoppingEngine] = []

    def check(engine: Any, place: str) -> None:
        stopping.append(StoppingEngine(engine, writes))
        check_format(stopping[0], place)

    with monkeypatch.context() as patch:
        patch.setattr(engine_module, "check_format", check)
        try:
            engine_module.open_engine(str(data_dir)).close()
        except StorageError:
            assert stopping[0].has_failed
        return stopping[0].has_failed


@pytest.mark.parametrize("name", NAMES)
def test_a_conversion_that_was_stopped_is_done_at_the_next_start(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = told_of(name)
    for writes in range(STOPS_MAX):
        data_dir = tmp_path / str(writes)
        seconds = make_folder(name, data_dir)
        if not stops_after(writes, data_dir, monkeypatch):
            break
        with served(name, data_dir, seconds) as (database, around):
            assert comparable(seen(database, around)) == told
        assert check_store(str(data_dir)).faults == []
    else:
        pytest.fail("a conversion that needs so many writes takes long")
    needs_conversion = name != f"format-{FORMAT_VERSION}"
    assert bool(writes) is needs_conversion


@pytest.mark.parametrize("back_seconds", [0, HOUR_SECONDS])
@pytest.mark.parametrize("name", NAMES)
def test_further_records_have_greater_numbers_though_the_clock_was_set_back(
    name: str, back_seconds: float, tmp_path: Path
) -> None:
    seconds = make_folder(name, tmp_path)
    with served(name, tmp_path, seconds - back_seconds) as (database, around), closing(Client(database)) as client:
        before = records_of(seen_streams(client))
        write_further(Author(database, around))
        after = records_of(seen_streams(client))
    assert before.keys() == after.keys()
    for (arn, shard), records in after.items():
        former = before[arn, shard]
        assert records[: len(former)] == former
    further = {arn: numbers_after(before, after, arn) for arn, _ in after}
    assert {arn.split("/")[1]: len(numbers) for arn, numbers in further.items() if numbers} == {
        "both": 3, "keys": 2, "strings": 2, "switched": 2, "triggered": 2, "wide": 2,
    }  # fmt: skip


def numbers_after(before: Records, after: Records, arn: str) -> list[int]:
    """The numbers of the further records of a stream: in order in their shard, and greater than all former ones."""
    former: list[int] = []
    further: list[int] = []
    for (of, shard), records in after.items():
        if of == arn:
            numbers = [int(one["dynamodb"]["SequenceNumber"]) for one in records]
            assert numbers == sorted(set(numbers))
            former += numbers[: len(before[arn, shard])]
            further += numbers[len(before[arn, shard]) :]
    assert not further or min(further) > max(former, default=0)
    return further


def records_of(streams: dict[str, Any]) -> Records:
    """The records by ARN of their stream and shard."""
    return {(arn, shard): records for arn, one in streams.items() for shard, records in one["records"].items()}


def write_further(author: Author) -> None:
    """Change an item whose last changes are undelivered, and the same item of tables with streams alone."""
    for table in ("both", "keys", "feed", "again", "switched", "triggered", "strings"):
        author.put(table, {"S": "dx"}, further={"N": "1"})
        author.put(table, {"S": "dx"}, further={"N": "2"})
    author.put("wide", {"S": "d0"}, further={"N": "1"})
    author.put("wide", {"S": "d0"}, further={"N": "2"})
    author.transact(("feed", "dt", "1"), ("both", "dt", "2"))


@pytest.mark.parametrize("name", WITH_DESTINATIONS)
def test_further_changes_of_an_item_are_delivered_after_the_older_ones(name: str) -> None:
    told = json.loads((FILES / f"{name}.json").read_text(encoding="utf-8"))
    with served_snapshot(name, others_fail=True) as (database, around):
        write_further(Author(database, around))
        rest(database)
        assert not any(around.kinesis.changes(one) for one in DATA_STREAMS)
        let_others_fail(around, fail=False)
        database.clock.advance(120)
        found, handled = delivered(around), plain(around.watch.records)
    assert {one: added(told["kinesis"][one], found[one]) for one in DATA_STREAMS} == {
        "both-changes": {"dx": 2, "dt": 1}, "feed-changes": {"dx": 2, "dt": 1}, "keys-changes": {"dx": 2},
        "again-changes": {"dx": 2}, "wide-changes": {"d0": 2}, "gone-changes": {},
    }  # fmt: skip
    former, now = by_table(told["triggered"]), by_table(handled)
    assert former.keys() == now.keys()
    assert {table: added(records, now[table]) for table, records in former.items()} == {
        "both": {"dx": 2, "dt": 1}, "triggered": {"dx": 2},
    }  # fmt: skip


def added(former: list[Any], now: list[Any]) -> dict[str, int]:
    """How many changes of each item have come to those that came formerly; they are behind these."""
    before, after = by_item(former), by_item(now)
    assert before.keys() == after.keys()
    for key, changes in before.items():
        assert after[key][: len(changes)] == changes
    return {key: len(after[key]) - len(changes) for key, changes in before.items() if after[key] != changes}
