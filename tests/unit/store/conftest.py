"""The embedded store on disk and in memory, and an event loop for tests."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from hashrange.store.embedded import EmbeddedStore, open_store
from hashrange.tables.open_table import OpenTable
from tests.support.clocks import VirtualClock
from tests.support.samples import finish, table_maker

Run = Callable[[Coroutine[Any, Any, Any]], Any]


async def sync_thread_is_idle(store: EmbeddedStore) -> None:
    """Return once the sync thread has finished its work and the loop has received its results."""
    done = asyncio.get_running_loop().create_future()
    barrier = store._barrier
    barrier.run_on_thread(lambda: barrier.report(done.set_result, None))
    await done


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop."""
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture
def run(loop: asyncio.AbstractEventLoop) -> Run:
    """Run a coroutine on the loop."""
    return loop.run_until_complete


@pytest.fixture(params=["disk", "memory"])
def data_dir(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    """The data folder of each mode: on disk, or None for memory."""
    return str(tmp_path / "data") if request.param == "disk" else None


@pytest.fixture
def store(data_dir: str | None, loop: asyncio.AbstractEventLoop) -> Iterator[EmbeddedStore]:
    """An empty store of each mode; its clock stands still, so that no page gives way because the machine is slow."""
    store = open_store(data_dir, VirtualClock(), loop)
    yield store
    store.close_now()


@pytest.fixture
def disk_store(tmp_path: Path, loop: asyncio.AbstractEventLoop) -> Iterator[EmbeddedStore]:
    """An empty store on disk, in `tmp_path / "data"`."""
    store = open_store(str(tmp_path / "data"), VirtualClock(), loop)
    yield store
    store.close_now()


@pytest.fixture
def table(store: EmbeddedStore) -> OpenTable:
    """A table in `store`."""
    table = finish(store.catalog.create(table_maker("orders")))
    assert table is not None
    return table
