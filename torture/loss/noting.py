"""How much of each log is synced? `python -m torture.loss.noting serve …` is `hashrange serve` that notes it
in `synced`, beside the data folder.

After each sync, before any write is acknowledged for it and before the store notes the sync itself, a line is written
with the number of safe bytes of each log.
"""

import json
import os
import sys
from pathlib import Path

from hashrange.cli.main import main
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.health import Health
from hashrange.store.embedded.synced import SyncedFile

NOTES = "synced"
"""Name of the file, beside the data folder."""


def log_sizes(engine_folder: Path) -> dict[str, int]:
    """Return the bytes of each log that is not empty; logs may appear and disappear meanwhile."""
    sizes = {}
    for log in engine_folder.glob("*.log"):
        try:
            sizes[log.name] = log.stat().st_size
        except FileNotFoundError:
            continue
    return {name: size for name, size in sizes.items() if size}


def note_syncs(data: Path) -> None:
    """Make every sync of this process write a note.

    The logs are measured once the store has decided which writes the sync covers: if it were before, writes in between
    would count as synced in the file `synced`, but not in the note.
    """
    notes = os.open(data.parent / NOTES, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    sync_logs = Health._sync_logs  # noqa: SLF001 - nothing public tells when a sync begins
    note_synced = SyncedFile.note
    sizes: dict[str, int] = {}

    def noted_first(file: SyncedFile, sequence: int, now_seconds: float) -> bool:
        os.write(notes, json.dumps(sizes).encode() + b"\n")
        return note_synced(file, sequence, now_seconds)

    def measured_first(store_health: Health, engine: Engine) -> None:
        nonlocal sizes
        sizes = log_sizes(data / "engine")
        sync_logs(store_health, engine)

    SyncedFile.note = noted_first  # type: ignore[method-assign,assignment]
    Health._sync_logs = measured_first  # type: ignore[assignment,method-assign]  # noqa: SLF001 - as above


def synced_bytes(folder: Path) -> dict[str, int]:
    """Return the synced bytes per log from the last complete line of a killed server."""
    try:
        lines = (folder / NOTES).read_bytes().split(b"\n")
    except FileNotFoundError:
        return {}
    return json.loads(lines[-2]) if len(lines) > 1 else {}


if __name__ == "__main__":
    note_syncs(Path(sys.argv[sys.argv.index("--data-dir") + 1]))
    sys.exit(main())
