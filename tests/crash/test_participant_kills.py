"""A store killed while a participant keeps its log: the log has every change that is in the store, and no other."""

import json
import os
import random
import signal
import sys
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from msgspec.structs import replace

from hashrange.clock import SystemClock
from hashrange.items.types import Key, Row
from hashrange.store.embedded import EmbeddedStore, open_store
from hashrange.store.embedded.participants import PARTICIPANTS
from hashrange.store.interface import TransactionStep
from tests.crash.harness import ROUNDS, context
from tests.support.participants import TAG, ChangeLog, logged, replayed, source_of, stored
from tests.support.samples import finish, row_of, table_maker

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")

KEYS = [Key(b"%03d" % number) for number in range(200)]
KILLS = max(5, ROUNDS // 5)
FOUND_FULL = 150
"""Number of rows in the table before the log begins."""


def open_logged(folder: str) -> EmbeddedStore:
    return open_store(folder, SystemClock(), None, participants=(*PARTICIPANTS, ChangeLog))


def write_until_killed(folder: str, seed: int, pipe: Connection) -> None:
    """Entry of the process: random writes, transactions and slices of the walk; reports each after its commit."""
    chance = random.Random(seed)
    store = open_logged(folder)
    table = store.catalog.find("000000000000", "us-east-1", "t")
    if table is None:
        table = finish(store.catalog.create(table_maker("t")))
        assert table is not None
        for number in range(FOUND_FULL):
            finish(store.mutate(table, KEYS[number], lambda _, number=number: row_of(number + 1)))  # type: ignore[misc]
        assert finish(store.catalog.replace(table.schema, replace(table.schema, tags={TAG: "filling"})))
    while True:
        rows = {key: chance.choice([None, row_of(chance.randint(1, 99))]) for key in chance.sample(KEYS, 4)}
        steps = [TransactionStep(table, key, lambda _, row=row: row) for key, row in rows.items()]  # type: ignore[misc]
        if chance.random() < 0.3:
            finish(store.transact(steps, None))
        else:
            key = next(iter(rows))
            rows = {key: rows[key]}
            finish(store.mutate(table, key, steps[0].plan))
        pipe.send_bytes(
            json.dumps([[key.decode(), row and row.decode("latin-1")] for key, row in rows.items()]).encode()
        )
        if store.maintenance.backfills() and chance.random() < 0.2:
            finish(store.maintenance.backfill(store.maintenance.backfills()[0].source_id, 3))


def run_and_kill(folder: Path, seed: int, messages: int) -> list[dict[bytes, Row | None]]:
    """The rows of each commit, in order, that the process reported before it was killed."""
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=write_until_killed, args=(str(folder), seed, there))
    process.start()
    there.close()
    told: list[dict[bytes, Row | None]] = []
    try:
        while True:
            rows = json.loads(here.recv_bytes())
            told.append({key.encode(): None if row is None else Row(row.encode("latin-1")) for key, row in rows})
            if len(told) == messages:
                assert process.pid is not None
                os.kill(process.pid, signal.SIGKILL)
    except (EOFError, OSError):
        pass
    process.join()
    assert len(told) >= messages, "the process ended by itself"
    return told


def test_nothing_is_lost_or_invented(tmp_path: Path) -> None:
    chance = random.Random(4)
    folder = tmp_path / "data"
    acknowledged: dict[bytes, Row | None] = {}
    last_position = 0
    states = set()
    for kill in range(KILLS):
        for rows in run_and_kill(folder, kill, chance.randint(1, 120)):
            acknowledged |= rows
        store = open_logged(str(folder))
        table = store.catalog.find("000000000000", "us-east-1", "t")
        assert table is not None
        there = stored(store.engine, table)
        has_passed = store._walks.has_passed
        assert replayed(store.engine, table) == {
            key: row for key, row in there.items() if has_passed(source_of(table), Key(key))
        }
        positions = [position for position, _ in logged(store.engine, table)]
        assert positions == sorted(positions)
        assert store.position() >= max(positions, default=0) >= last_position
        last_position = max(positions, default=0)
        differing = {key for key, row in acknowledged.items() if there.get(key) != row}
        assert len(differing) <= 4, "only one commit may have come after the last that was told"
        acknowledged |= {key: Row(there[key]) if key in there else None for key in differing}
        states.add(table.schema.tags[TAG])
        store.close_now()
    assert "on" in states, "the walk never came to its end"
