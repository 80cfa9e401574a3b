"""While the engine is behind, work that can wait is postponed, but not without limit."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial

import pytest

from hashrange.items.types import Key, Row
from hashrange.store.embedded import EmbeddedStore, stalls
from hashrange.store.embedded import engine as engine_room
from hashrange.store.embedded.health import Site
from hashrange.tables.open_table import OpenTable
from tests.support.samples import finish, row_of
from tests.unit.store.conftest import Run


def put(row: Row, _old: Row | None) -> Row:
    return row


@pytest.fixture
def behind(store: EmbeddedStore, table: OpenTable, monkeypatch: pytest.MonkeyPatch) -> EmbeddedStore:
    """A store whose engine counts as behind until it is flushed."""
    finish(store.mutate(table, Key(b"k"), partial(put, row_of(10, b"k"))))
    monkeypatch.setattr(engine_room, "STALL_THRESHOLDS", (("rocksdb.num-entries-active-mem-table", 1),))
    monkeypatch.setattr(stalls, "BEHIND_LOOK_SECONDS", 0)
    return store


WAITS = [stalls.wait_while_behind, stalls.wait_while_flushing]
Wait = Callable[[Site], Coroutine[None, None, None]]


@pytest.mark.parametrize("wait", WAITS)
def test_there_is_room_in_a_quiet_store(store: EmbeddedStore, wait: Wait) -> None:
    assert finish(wait(store.site)) is None


@pytest.mark.parametrize("wait", WAITS)
def test_it_waits_until_the_engine_has_caught_up(
    behind: EmbeddedStore, wait: Wait, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stalls, "BEHIND_LOOKS_MAX", 1_000_000)

    async def scenario() -> None:
        waiting = asyncio.ensure_future(wait(behind.site))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not waiting.done()
        behind.engine.flush()
        await waiting

    run(scenario())


@pytest.mark.parametrize("wait", WAITS)
def test_it_does_not_wait_for_ever(behind: EmbeddedStore, wait: Wait, run: Run) -> None:
    run(wait(behind.site))
    assert engine_room.is_behind(behind.engine)
