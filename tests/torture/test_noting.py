"""What the torture takes for synced is neither more nor less than what the server does."""

import random
import shutil
from pathlib import Path

import pytest

from hashrange.items.types import Key
from hashrange.store.embedded import files, open_store
from hashrange.store.embedded.health import Health
from hashrange.store.embedded.synced import SyncedFile, read_synced
from tests.support.clocks import VirtualClock
from tests.support.samples import finish, row_of, table_maker
from torture.loss import noting
from torture.loss.cuts import cut_logs


@pytest.fixture(autouse=True)
def without_notes_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    for owner, name in ((Health, "_sync"), (Health, "_sync_logs"), (SyncedFile, "note")):
        if hasattr(owner, name):
            monkeypatch.setattr(owner, name, getattr(owner, name))


def test_a_write_during_a_sync_is_not_missed_after_the_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop writes on while the sync thread measures the logs."""
    place = tmp_path / "place"
    place.mkdir()
    noting.note_syncs(place / "data")
    store = open_store(str(place / "data"), VirtualClock(), None)
    table = finish(store.catalog.create(table_maker("t")))
    assert table is not None
    measured = noting.log_sizes
    written = 0

    def write() -> None:
        nonlocal written
        written += 1
        finish(store.mutate(table, Key(b"%d" % written), lambda _: row_of(10)))

    def write_meanwhile(folder: Path) -> dict[str, int]:
        sizes = measured(folder)
        write()
        return sizes

    monkeypatch.setattr(noting, "log_sizes", write_meanwhile)
    for _ in range(3):
        write()
        store.when_durable(store.position(), lambda _: None)
    synced = read_synced(files.by_name(str(place / "data")))
    assert synced is not None
    assert synced.sequence > 1
    shutil.copytree(place, tmp_path / "cut")
    store.close_now()
    cut_logs(tmp_path / "cut" / "data" / "engine", noting.synced_bytes(tmp_path / "cut"), "synced", random.Random(1))
    open_store(str(tmp_path / "cut" / "data"), VirtualClock(), None).close_now()
