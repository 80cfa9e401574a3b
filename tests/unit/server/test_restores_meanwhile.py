"""While a database returns to a snapshot, requests go on with the former content; the step that replaces it takes no
longer if there are many tables.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from hashrange.clock import MovableClock, SystemClock
from hashrange.errors import ConditionalCheckFailedException, ResourceNotFoundException, StorageError
from hashrange.faults.fault import Fault, Faults
from hashrange.service.fault_feature import FAULTS, NO_FAULTS
from hashrange.service.opening import open_fork
from hashrange.service.service import Service
from hashrange.service.snapshots import ServiceSnapshot, return_in_turns, return_to, take_snapshot
from hashrange.settings import Settings
from hashrange.store.copying import copying_of
from hashrange.store.embedded import checkpoints, loading
from hashrange.store.embedded.catalog import EmbeddedCatalog
from hashrange.store.embedded.health import Site
from hashrange.store.embedded.store import EmbeddedStore
from hashrange.testing.in_process import InProcess
from hashrange.testing.inside import Inside
from tests.support.in_process import in_process
from tests.support.working import lines_of

MORE_TABLES = 30
LAG = Faults((Fault("index-lag", seconds=60.0),))


@pytest.fixture(params=["memory", "disk"])
def process(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[InProcess]:
    data_dir = None if request.param == "memory" else str(tmp_path / "data")
    with in_process(Settings(data_dir=data_dir), MovableClock(SystemClock())) as process:
        yield process


async def make_table(inside: Inside, name: str) -> None:
    """A table with all that is read of tables when a store is opened."""
    await inside.call(
        "CreateTable",
        {
            "TableName": name,
            "AttributeDefinitions": [{"AttributeName": one, "AttributeType": "S"} for one in ("id", "x")],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
            "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": "by-x",
                    "KeySchema": [{"AttributeName": "x", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
        },
    )
    time_to_live = {"Enabled": True, "AttributeName": "ends"}
    await inside.call("UpdateTimeToLive", {"TableName": name, "TimeToLiveSpecification": time_to_live})
    recovery = {"PointInTimeRecoveryEnabled": True}
    await inside.call("UpdateContinuousBackups", {"TableName": name, "PointInTimeRecoverySpecification": recovery})


async def put(inside: Inside, name: str, version: str) -> None:
    await inside.call("PutItem", {"TableName": name, "Item": {"id": {"S": "one"}, "x": {"S": version}}})


def use(service: Service, faults: Faults) -> None:
    service.features.part(FAULTS).use(faults)


# --- the step that replaces ------------------------------------------------------------------------------


async def lines_to_return(process: InProcess, monkeypatch: pytest.MonkeyPatch, tables: int) -> dict[str, int]:
    """How many lines the steps of a restore, a fork and a reset run that others wait for, beside so many tables."""
    service = process.service
    inside = Inside(service)
    for number in range(tables):
        await make_table(inside, f"table-{number}")
        await put(inside, f"table-{number}", "a")
    use(service, LAG)
    snapshot = await take_snapshot(service)
    lines: dict[str, int] = {}
    for name, to in (("restore", snapshot), ("again", snapshot), ("reset", None)):
        for number in range(tables):
            await put(inside, f"table-{number}", "b")
        assert service.recording is not None
        service.recording.fold()  # what the requests of the last second have consumed, of however many tables
        opened = await copying_of(service.store).open_checkpoint(None if to is None else to.checkpoint)
        lines[name] = lines_of(lambda to=to, opened=opened: return_to(service, to, opened))  # type: ignore[misc]
        opened.release()
    begin = EmbeddedStore.begin
    with monkeypatch.context() as counted:

        def counted_begin(*arguments: Any) -> None:
            lines["fork"] = lines_of(lambda: begin(*arguments))

        counted.setattr(EmbeddedStore, "begin", counted_begin)
        fork = await open_fork(Settings(data_dir=None), snapshot)
    await fork.store.close()
    snapshot.checkpoint.release()
    return lines


def test_the_steps_of_a_restore_a_fork_and_a_reset_take_no_longer_with_many_tables(
    process: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They took 13 µs for each table, and 20 with a fault that delays index entries."""
    few, many = [process.run(lines_to_return, process, monkeypatch, tables) for tables in (2, 2 + MORE_TABLES)]
    assert max(many[name] - few[name] for name in few) < MORE_TABLES, (few, many)


def test_a_restore_with_delayed_entries_opens_no_table_anew(
    process: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of the former content, and each of the restored one, was opened a second time."""
    reopened = 0
    reopen = EmbeddedCatalog.reopen

    def counted(catalog: EmbeddedCatalog) -> None:
        nonlocal reopened
        reopened += 1
        reopen(catalog)

    async def restore(service: Service) -> list[list[str]]:
        inside = Inside(service)
        await make_table(inside, "orders")
        await put(inside, "orders", "a")
        without = await take_snapshot(service)
        use(service, LAG)
        delayed = await take_snapshot(service)
        monkeypatch.setattr(EmbeddedCatalog, "reopen", counted)
        found = []
        for snapshot in (without, delayed, without):
            await return_in_turns(service, snapshot)
            await put(inside, "orders", "b")
            entries = await inside.call("Scan", {"TableName": "orders", "IndexName": "by-x"})
            found.append([one["x"]["S"] for one in entries["Items"]])
        fork = await open_fork(Settings(data_dir=None), delayed)
        await put(Inside(fork), "orders", "b")
        entries = await Inside(fork).call("Scan", {"TableName": "orders", "IndexName": "by-x"})
        found.append([one["x"]["S"] for one in entries["Items"]])
        await fork.store.close()
        return found

    assert process.run(restore, process.service) == [["b"], ["a"], ["b"], ["a"]]
    assert reopened == 0


# --- requests and failures meanwhile ---------------------------------------------------------------------


class Content:
    """A database that is made anew again and again, and the snapshots of what it was."""

    def __init__(self, service: Service, chance: Random) -> None:
        self.service, self.chance = service, chance
        self.inside = Inside(service)
        self.versions: list[tuple[str, frozenset[str], Faults, ServiceSnapshot]] = []
        self.version, self.tables, self.faults = "", frozenset[str](), NO_FAULTS

    async def make(self, version: str) -> None:
        """Make other content, of other tables and faults, and keep a snapshot of it."""
        await return_in_turns(self.service, None)
        self.version, self.faults = version, self.chance.choice((NO_FAULTS, LAG))
        names = self.chance.sample([f"table-{number}" for number in range(6)], self.chance.randint(2, 5))
        self.tables = frozenset(names)
        use(self.service, self.faults)
        for name in names:
            await make_table(self.inside, name)
            await put(self.inside, name, version)
        self.versions.append((version, self.tables, self.faults, await take_snapshot(self.service)))

    async def tables_seen(self) -> frozenset[str]:
        return frozenset((await self.inside.call("ListTables", {}))["TableNames"])

    async def version_seen(self, tables: frozenset[str]) -> str | None:
        """The version of which one request finds these tables; None: they are not there."""
        gets = [{"Get": {"TableName": name, "Key": {"id": {"S": "one"}}}} for name in sorted(tables)]
        try:
            found = (await self.inside.call("TransactGetItems", {"TransactItems": gets}))["Responses"]
        except ResourceNotFoundException:
            return None
        (version,) = {one["Item"]["x"]["S"] for one in found}
        return str(version)

    async def check(self) -> None:
        """The content is that of the present version, and faults and indexes are as they were then."""
        assert await self.tables_seen() == self.tables
        assert await self.version_seen(self.tables) == self.version
        assert (self.service.features.part(FAULTS).present() or NO_FAULTS) == self.faults
        for name in self.tables:
            entries = (await self.inside.call("Scan", {"TableName": name, "IndexName": "by-x"}))["Items"]
            assert [one["x"]["S"] for one in entries] == ([] if self.faults is LAG else [self.version])
            table = await self.inside.call("DescribeTimeToLive", {"TableName": name})
            assert table["TimeToLiveDescription"]["TimeToLiveStatus"] == "ENABLED"

    async def write(self) -> None:
        """Write the present version once more to some table, unless other content has taken its place."""
        item = {"id": {"S": "one"}, "x": {"S": self.version}, "more": {"S": str(self.chance.random())}}
        with suppress(ConditionalCheckFailedException, ResourceNotFoundException):
            await self.inside.call(
                "PutItem",
                {
                    "TableName": self.chance.choice(sorted(self.tables)),
                    "Item": item,
                    "ConditionExpression": "x = :x",
                    "ExpressionAttributeValues": {":x": item["x"]},
                },
            )

    async def restore(self, *, fails: bool) -> None:
        """Return to a snapshot; requests meanwhile find the former content, and from some moment on the other."""
        version, tables, faults, snapshot = self.chance.choice(self.versions)
        work, is_over = asyncio.ensure_future(return_in_turns(self.service, snapshot)), False
        while not work.done():
            found = await self.tables_seen()
            is_over = is_over or found != self.tables
            assert found == (tables if is_over else self.tables)
            seen = await self.version_seen(found)
            is_over = is_over or seen != self.version
            assert seen == (version if is_over else self.version) or (seen is None and found != tables)
            await self.write()
            await asyncio.sleep(0)
        if fails:
            with pytest.raises(StorageError):
                await work
        else:
            await work
            self.version, self.tables, self.faults = version, tables, faults


@contextmanager
def failing(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> Iterator[None]:
    """Meanwhile, a function of the store fails."""

    def fail(*_: object, **__: object) -> Any:
        raise StorageError("not now")

    with monkeypatch.context() as broken:
        broken.setattr(owner, name, fail)
        yield


FAILURES: list[tuple[Any, str]] = [
    (checkpoints, "open_home"),
    (loading, "read_catalog"),
    (loading, "read_documents"),
    (Site, "let_engine_go"),
]


@pytest.mark.parametrize("seed", range(2))
def test_requests_see_the_former_content_or_the_other_and_a_failure_leaves_it(
    process: InProcess, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = Random(seed)

    async def live(service: Service) -> None:
        content = Content(service, chance)
        for version in ("a", "b", "c"):
            await content.make(version)
        for _ in range(6):
            if chance.random() < 0.4:
                owner, name = chance.choice(FAILURES)
                with failing(monkeypatch, owner, name):
                    await content.restore(fails=True)
            else:
                await content.restore(fails=False)
            await content.check()

    run: Callable[..., Any] = process.run
    run(live, process.service)
