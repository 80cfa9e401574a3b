"""A store killed in the middle of transactions holds each transaction completely or not at all, its token included."""

import random
import sys
from pathlib import Path

import pytest

from hashrange.clock import SystemClock
from hashrange.items.types import Key
from hashrange.store.embedded import layout, open_store
from hashrange.store.embedded.reading import scan_prefix, scan_range
from tests.crash import harness
from tests.crash import transaction_writer as program
from tests.support.samples import finish, statistics_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")

WRITERS = 4
ROUNDS = max(4, harness.ROUNDS // 5)


def run_and_kill(folder: Path, messages: int) -> dict[int, int]:
    """Writer → last number that was acknowledged before the kill."""
    told = harness.heard_until_killed(program.write_until_killed, (str(folder), WRITERS), messages)
    return dict(told)  # the last number of each writer counts


def assert_whole(folder: Path, acknowledged: dict[int, int]) -> None:
    """Fail unless both tables have the same number, rows and tokens exactly up to it, and right statistics."""
    store = open_store(str(folder), SystemClock(), None)
    tables = finish(program.open_tables(store))
    found = [dict(scan_range(store.engine, *layout.table_range(table.table_id))) for table in tables]
    for table, rows in zip(tables, found, strict=True):
        sizes = sum(int.from_bytes(row[1:5], "big") for row in rows.values())
        assert statistics_of(store, table.source_id) == (len(rows), sizes)
    tokens = {
        engine_key[len(layout.TOKEN_PREFIX) :] for engine_key, _ in scan_prefix(store.engine, layout.TOKEN_PREFIX)
    }
    expected_tokens = set()
    entries = {Key(engine_key[6:]) for engine_key in found[1]}
    expected_entries = {
        program.counter_key(writer) for writer in range(WRITERS) if program.counter_key(writer) in entries
    }
    for writer in range(WRITERS):
        counters = [
            program.number_of(finish(store.get(table.source_id, program.counter_key(writer), consistent=True)))
            for table in tables
        ]
        assert counters[0] == counters[1] >= acknowledged.get(writer, 0)
        for number in range(1, counters[0] + 1):
            expected_entries.add(program.entry_key(writer, number))
            expected_tokens.add(program.token(writer, number).name)
        if counters[0]:
            assert finish(program.transact_one(store, tables, writer, counters[0])) == ((), b"3"), "not a replay"
    assert entries == expected_entries
    assert tokens == expected_tokens
    store.close_now()


def test_a_kill_halves_no_transaction(tmp_path: Path) -> None:
    acknowledged: dict[int, int] = {}
    for number in range(ROUNDS):
        acknowledged |= run_and_kill(tmp_path / "data", random.Random(number).randint(1, 300))
        assert_whole(tmp_path / "data", acknowledged)
