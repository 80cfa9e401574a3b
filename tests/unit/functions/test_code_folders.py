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

from hashrange.functions import code, load_refusals
from hashrange.functions.code import CodeFolders, unpack_code
from hashrange.functions.invocation import InvocationOutcome
from tests.support.waiting import PATIENCE_SECONDS


def zipped(count: int) -> bytes:
    """A zip of some files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number in range(count):
            archive.writestr(str(number), b"")
    return buffer.getvalue()


class Overlaps:
    """Notes on which threads work is done, and how much at the same time. Work within work is part of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._working: set[int] = set()
        """Threads that do noted work."""
        self.threads: Counter[str] = Counter()
        self.running: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        for owner, name in (
            (code, "unpack_code"),
            (code, "remove_tree"),
            (load_refusals, "names_in_zip"),
        ):
            monkeypatch.setattr(owner, name, self._noting(getattr(owner, name)))

    def _noting(self, work: Any) -> Any:
        def note(*arguments: Any) -> Any:
            number = threading.get_ident()
            if number in self._working:
                return work(*arguments)
            self._working.add(number)
            thread = threading.current_thread().name.rpartition("_")[0]
            self.threads[thread] += 1
            self.running[thread] += 1
            self.most[thread] = max(self.most[thread], self.running[thread])
            try:
                return work(*arguments)
            finally:
                self.running[thread] -= 1
                self._working.discard(number)

        return note


@pytest.mark.parametrize(("bytes_max", "thread"), [(1 << 16, "hashrange-short-zips"), (0, "hashrange-long-zips")])
def test_one_zip_at_a_time_is_unpacked(monkeypatch: pytest.MonkeyPatch, bytes_max: int, thread: str) -> None:
    monkeypatch.setattr(code, "_SHORT_ZIP_BYTES_MAX", bytes_max)
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
    assert overlaps.threads == {thread: 9, "hashrange-removing": 7}
    assert overlaps.most == {thread: 1, "hashrange-removing": 1}


def test_a_short_zip_does_not_wait_for_a_long_one(monkeypatch: pytest.MonkeyPatch) -> None:
    short, long = zipped(1), zipped(50)
    monkeypatch.setattr(code, "_SHORT_ZIP_BYTES_MAX", len(short))
    may_go_on = threading.Event()
    unpack = unpack_code

    def unpack_long_ones_later(content: bytes, folder: str) -> None:
        assert content is short or may_go_on.wait(PATIENCE_SECONDS)
        unpack(content, folder)

    monkeypatch.setattr(code, "unpack_code", unpack_long_ones_later)

    async def scenario() -> None:
        folders = CodeFolders()
        later = [asyncio.ensure_future(folders.unpack(long)) for _ in range(3)]
        folder = await folders.unpack(short)
        assert len(list(Path(folder).iterdir())) == 1
        assert not [one for one in later if one.done()]
        may_go_on.set()
        await asyncio.gather(*later)
        await folders.close()

    asyncio.run(scenario())
