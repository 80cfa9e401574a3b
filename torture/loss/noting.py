"""How far has a sync come? `python -m torture.loss.noting serve …` is `hashrange serve` that notes it, in the data folder's `synced`.

After each sync, and before anything is acknowledged for it or the store itself notes how far it has come, a line tells how many
bytes of each log are safe.
"""

import json
import os
import sys
from pathlib import Path

from hashrange.cli.main import main
from hashrange.store.embedded.health import Health
from hashrange.store.embedded.synced import SyncedFile

NOTES = "synced"
"""A file beside the data folder."""


def log_sizes(engine_folder: Path) -> dict[str, int]:
    """Bytes of each log that holds anything; logs come and go meanwhile."""
    sizes = {}
    for log in engine_folder.glob("*.log"):
        try:
            sizes[log.name] = log.stat().st_size
        except FileNotFoundError:
            continue
    return {name: size for name, size in sizes.items() if size}


def note_syncs(data: Path) -> None:
    """Put the notes into every sync of this process."""
    notes = os.open(data.parent / NOTES, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    sync = Health._sync  # noqa: SLF001 - nothing public tells when a sync has ended
    note_synced = SyncedFile.note
    sizes: dict[str, int] = {}

    def note() -> None:
        os.write(notes, json.dumps(sizes).encode() + b"\n")

    def noted_first(file: SyncedFile, sequence: int, now_seconds: float) -> bool:
        note()
        return note_synced(file, sequence, now_seconds)

    def noted(store_health: Health) -> None:
        nonlocal sizes
        sizes = log_sizes(data / "engine")
        sync(store_health)
        note()

    SyncedFile.note = noted_first  # type: ignore[method-assign,assignment]
    Health._sync = noted  # type: ignore[assignment,method-assign]  # noqa: SLF001 - as above


def synced_bytes(folder: Path) -> dict[str, int]:
    """What the last whole line of a killed server says."""
    try:
        lines = (folder / NOTES).read_bytes().split(b"\n")
    except FileNotFoundError:
        return {}
    return json.loads(lines[-2]) if len(lines) > 1 else {}


if __name__ == "__main__":
    note_syncs(Path(sys.argv[sys.argv.index("--data-dir") + 1]))
    sys.exit(main())
