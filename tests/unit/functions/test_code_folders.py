"""However many zips are to be unpacked, named or removed at the same time, one is at a time, on a thread of its own."""

import asyncio
import io
import threading
import zipfile
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hashrange.functions import code_folders, load_refusals
from hashrange.functions.code_folders import CodeFolders
from hashrange.functions.invocation import InvocationOutcome


def zipped(count: int) -> bytes:
    """A zip of some files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number in range(count):
            archive.writestr(str(number), b"")
    return buffer.getvalue()


class Overlaps:
    """Notes on which threads work is done, and how much at the same time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.threads: Counter[str] = Counter()
        self.running: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        for owner, name in (
            (code_folders, "unpack_code"),
            (code_folders, "remove_tree"),
            (load_refusals, "names_in_zip"),
        ):
            monkeypatch.setattr(owner, name, self._noting(getattr(owner, name)))

    def _noting(self, work: Any) -> Any:
        def note(*arguments: Any) -> Any:
            thread = threading.current_thread().name.rpartition("_")[0]
            self.threads[thread] += 1
            self.running[thread] += 1
            self.most[thread] = max(self.most[thread], self.running[thread])
            try:
                return work(*arguments)
            finally:
                self.running[thread] -= 1

        return note


def test_one_zip_at_a_time_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    overlaps = Overlaps(monkeypatch)
    description: Any = SimpleNamespace(handler="a.b", runtime="python3.11")

    async def scenario() -> None:
        folders = CodeFolders()
        refused = [
            load_refusals.load_refusal(description, zipped(9), "id", InvocationOutcome(b"", "Error")) for _ in range(3)
        ]
        unpacked, _ = await asyncio.gather(
            asyncio.gather(*(folders.unpack(zipped(9)) for _ in range(6))), asyncio.gather(*refused)
        )
        assert [len(list(Path(folder).iterdir())) for folder in unpacked] == 6 * [9]
        await asyncio.gather(*map(folders.remove, unpacked))
        await folders.close()

    asyncio.run(scenario())
    assert overlaps.threads == {"hashrange-unpacking": 9, "hashrange-removing": 7}
    assert overlaps.most == {"hashrange-unpacking": 1, "hashrange-removing": 1}
