"""Transfers that begin, or get what they wait for, together: each slice of their job does a piece of one of them."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from hashrange.jobs.job import AT_ONCE
from hashrange.testing.database import Database
from hashrange.transfers.flows import Flows, Inflow
from hashrange.transfers.workshop import Steps, TransferJob
from tests.unit.transfers.test_imports import begun, creation, ended
from tests.unit.transfers.transferred import BUCKET, give_objects

TOGETHER = 12


class Transfers:
    """Transfers whose pieces are counted, and the job that works on them."""

    def __init__(self, make: Callable[["Transfers", str], Steps]) -> None:
        self.paths = [f"path{number}" for number in range(TOGETHER)]
        self.pieces: list[str] = []
        """The path of each piece that has done something."""
        self.flows = Flows(lambda: None)
        shop: Any = SimpleNamespace(
            objects_of=object,
            flows=self.flows,
            store=SimpleNamespace(documents=SimpleNamespace(generation=1)),
        )

        async def give_up() -> None:
            pass

        def new_work(_shop: Any, path: Any, _progress: Any) -> Any:
            return SimpleNamespace(make=lambda: make(self, path), give_up=give_up)

        kept: Any = SimpleNamespace(paths_in_progress=lambda: [*self.paths], find=lambda path: (path, path))
        self.job = TransferJob(shop, kept, new_work, lambda: 0)

    async def rest(self) -> list[int]:
        """Run slices until the job rests; returns how many pieces of each have done something."""
        counts: list[int] = []
        pause: float | None = AT_ONCE
        while pause == AT_ONCE:
            before = len(self.pieces)
            pause = await self.job.run_slice()
            counts.append(len(self.pieces) - before)
        return counts


async def begin(transfers: Transfers, path: str) -> Steps:
    transfers.pieces.append(path)
    while True:
        yield None


async def take(transfers: Transfers, path: str) -> Steps:
    async def source() -> AsyncGenerator[str, None]:
        yield path

    flow = Inflow(source(), transfers.flows)
    while (taken := flow.take()) is None:
        yield None
    transfers.pieces.append(taken)
    while True:
        yield None


async def wait_longer(transfers: Transfers, path: str) -> Steps:
    yield None
    while len(transfers.pieces) < TOGETHER:
        transfers.pieces.append(path)
        yield 5.0
    while True:
        yield 5.0


@pytest.mark.parametrize("make", [begin, take, wait_longer])
def test_a_slice_does_one_piece_of_transfers_that_go_on_together(make: Any) -> None:
    async def scenario() -> None:
        transfers = Transfers(make)
        counts = await transfers.rest()
        while len(transfers.pieces) < TOGETHER:
            await asyncio.sleep(0)
            counts += await transfers.rest()
        assert max(counts) == 1
        assert sorted(transfers.pieces) == sorted(transfers.paths)
        await transfers.job.give_up()

    asyncio.run(scenario())


def test_a_transfer_that_comes_between_slices_is_begun_before_the_job_rests() -> None:
    async def scenario() -> None:
        transfers = Transfers(begin)
        assert await transfers.job.run_slice() == AT_ONCE
        transfers.paths.append("late")
        await transfers.rest()
        assert "late" in transfers.pieces
        await transfers.job.give_up()

    asyncio.run(scenario())


def test_imports_that_begin_together_make_one_table_in_each_slice(
    database: Database, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred made all their tables in one slice, of up to 0.1 s."""
    arns = [begun(client, creation(f"imported{number}")) for number in range(TOGETHER)]
    catalog = database._process.service.store.catalog
    made: list[int] = []
    work, create = TransferJob._work, type(catalog).create

    async def counted_work(job: TransferJob) -> float | None:
        made.append(0)
        return await work(job)

    async def counted_create(*arguments: Any) -> Any:
        made[-1] += 1
        return await create(*arguments)

    monkeypatch.setattr(type(catalog), "create", counted_create)
    monkeypatch.setattr(TransferJob, "_work", counted_work)
    give_objects(database)[BUCKET]["one.json"] = b'{"Item": {"id": {"S": "a"}}}'
    for arn in arns:
        assert ended(client, arn)["ImportStatus"] == "COMPLETED"
    assert sum(made) == TOGETHER
    assert max(made) == 1
