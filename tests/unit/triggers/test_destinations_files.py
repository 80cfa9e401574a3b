"""Messages in files and folders are whole, durable before they count as delivered, and survive kills."""

import asyncio
import errno
import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hashrange.triggers.destinations import (
    DeliveryFailed,
    Destination,
    append_message,
    file_destination,
    folder_destination,
    write_to_disk,
)
from tests.support.waiting import PATIENCE_SECONDS
from tests.unit.triggers.discarded import DOCUMENT, DOCUMENT_WITH_EVENT, KEY, MESSAGE, failure, numbered_failure


def deliver(destination: Destination, ids: Iterable[int] = (0,)) -> None:
    """Deliver messages with these numbers as batch sizes, all at once."""

    async def main() -> None:
        await asyncio.gather(*map(destination, map(numbered_failure, ids)))

    asyncio.run(main())


def numbers_in(lines: Iterable[bytes]) -> list[int]:
    return [json.loads(line)["DDBStreamBatchInfo"]["batchSize"] for line in lines]


def files_below(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


# --- files --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("has_event", "document"), [(False, DOCUMENT), (True, DOCUMENT_WITH_EVENT)])
def test_a_message_is_one_line_of_json(tmp_path: Path, has_event: bool, document: Any) -> None:
    path = tmp_path / "failed.jsonl"
    asyncio.run(file_destination(str(path), has_event=has_event)(MESSAGE))
    content = path.read_bytes()
    assert content.endswith(b"\n")
    assert [json.loads(line) for line in content.split(b"\n")[:-1]] == [document]


def test_lines_are_appended_in_order(tmp_path: Path) -> None:
    path = tmp_path / "failed.jsonl"
    for number in range(5):
        deliver(file_destination(str(path), has_event=False), [number])
    assert numbers_in(path.read_bytes().splitlines()) == [0, 1, 2, 3, 4]


def test_lines_of_many_deliveries_at_once_stay_whole(tmp_path: Path) -> None:
    path = tmp_path / "failed.jsonl"
    first, second = (file_destination(str(path), has_event=True) for _ in range(2))

    async def main() -> None:
        event = b'"' + b"x" * 300_000 + b'"'
        messages = [numbered_failure(number)._replace(event=event) for number in range(40)]
        await asyncio.gather(*map(first, messages[:20]), *map(second, messages[20:]))

    asyncio.run(main())
    assert sorted(numbers_in(path.read_bytes().splitlines())) == list(range(40))


@pytest.mark.parametrize("torn", [b'{"requestContext": {"requ', b"x"])
def test_a_torn_line_is_not_continued(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "failed.jsonl"
    deliver(file_destination(str(path), has_event=False), [1])
    with path.open("ab") as file:
        file.write(torn)
    deliver(file_destination(str(path), has_event=False), [2])
    lines = path.read_bytes().splitlines()
    assert lines[1] == torn
    assert numbers_in([lines[0], lines[2]]) == [1, 2]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a full device")
def test_a_full_disk_is_a_failed_delivery() -> None:
    with pytest.raises(DeliveryFailed, match=r"^/dev/full could not be written: No space left on device$"):
        asyncio.run(write_to_disk(partial(append_message, has_event=False), "/dev/full", MESSAGE))


def test_a_file_that_cannot_be_synced_is_a_failed_delivery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "failed.jsonl"
    refuse_syncs(monkeypatch)
    with pytest.raises(DeliveryFailed, match="could not be written: Input/output error"):
        deliver(file_destination(str(path), has_event=False))
    monkeypatch.undo()
    deliver(file_destination(str(path), has_event=False), [7])
    assert numbers_in(path.read_bytes().splitlines())[-1] == 7


def test_a_folder_that_is_gone_is_not_made_again_for_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    destination = file_destination(str(folder / "failed.jsonl"), has_event=False)
    folder.rmdir()
    with pytest.raises(DeliveryFailed, match="could not be written: No such file"):
        deliver(destination)
    assert not folder.exists()


# --- folders ------------------------------------------------------------------------------------


def test_a_message_is_one_file_by_the_objects_name(tmp_path: Path) -> None:
    asyncio.run(folder_destination(str(tmp_path / "failed"))(MESSAGE))
    assert files_below(tmp_path) == [f"failed/{KEY}"]
    assert json.loads((tmp_path / "failed" / KEY).read_bytes()) == DOCUMENT_WITH_EVENT


def test_another_try_replaces_the_file(tmp_path: Path) -> None:
    destination = folder_destination(str(tmp_path))
    for condition in ("RetryAttemptsExhausted", "RecordAgeExceeded"):
        asyncio.run(destination(failure(discard=condition)))
    assert files_below(tmp_path) == [KEY]
    assert json.loads((tmp_path / KEY).read_bytes())["requestContext"]["condition"] == "RecordAgeExceeded"


def test_many_files_at_once(tmp_path: Path) -> None:
    deliver(folder_destination(str(tmp_path)), [*range(40), *range(40)])
    assert sorted(numbers_in(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())) == list(range(40))


def test_two_tries_at_once_do_not_meet_in_one_unfinished_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have written all bytes before one of them replaces the file."""
    both = threading.Barrier(2)
    sync = os.fsync

    def meet(descriptor: int) -> None:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            both.wait(PATIENCE_SECONDS)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", meet)
    deliver(folder_destination(str(tmp_path)), [0, 0])
    (name,) = files_below(tmp_path)
    assert numbers_in([(tmp_path / name).read_bytes()]) == [0]


def test_a_file_that_was_not_finished_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    destination = folder_destination(str(tmp_path))
    deliver(destination)
    refuse_syncs(monkeypatch)
    with pytest.raises(DeliveryFailed, match="could not be written: Input/output error"):
        deliver(destination, [1])
    assert [name.rpartition("-")[2] for name in files_below(tmp_path)] == ["0"]


def test_a_file_in_the_way_is_a_failed_delivery(tmp_path: Path) -> None:
    (tmp_path / "aws").write_text("mine")
    with pytest.raises(DeliveryFailed, match=r"could not be written: (Not a directory|File exists)"):
        deliver(folder_destination(str(tmp_path)))
    assert files_below(tmp_path) == ["aws"]


# --- durability ---------------------------------------------------------------------------------


def refuse_syncs(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", refuse)


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Paths of files and folders that were synced, as they were called then."""
    found: set[str] = set()
    sync = os.fsync

    def record(descriptor: int) -> None:
        found.add(os.readlink(f"/proc/self/fd/{descriptor}"))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", record)
    return found


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="only Linux names open files")
def test_a_line_and_the_name_of_a_new_file_are_synced(tmp_path: Path, synced: set[str]) -> None:
    path = tmp_path / "failed.jsonl"
    deliver(file_destination(str(path), has_event=False))
    assert synced == {str(path), str(tmp_path)}
    synced.clear()
    deliver(file_destination(str(path), has_event=False))
    assert synced == {str(path)}


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="only Linux names open files")
def test_a_file_and_the_names_of_all_new_folders_are_synced(tmp_path: Path, synced: set[str]) -> None:
    deliver(folder_destination(str(tmp_path / "failed")))
    path = tmp_path / "failed" / numbered_failure(0).object_key
    folders = {str(one) for one in path.parents if one.is_relative_to(tmp_path)}
    assert folders < synced
    (file,) = synced - folders
    assert file.startswith(f"{path}.")


PROGRAM = """
import asyncio, itertools, sys
from hashrange.triggers.destinations import file_destination, folder_destination
from tests.unit.triggers.discarded import numbered_failure

async def main():
    destinations = file_destination(sys.argv[1] + "/failed.jsonl", has_event=True), folder_destination(sys.argv[1] + "/failed")
    for number in itertools.count():
        await asyncio.gather(*[destination(numbered_failure(number)) for destination in destinations])
        print(number, flush=True)

asyncio.run(main())
"""  # noqa: E501


def test_a_kill_loses_nothing_that_was_said_to_be_delivered(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], stdout=subprocess.PIPE, env=environment, cwd=tmp_path
    )
    assert process.stdout is not None
    told = [process.stdout.readline() for _ in range(20)]
    process.kill()
    told += process.stdout.readlines()
    process.stdout.close()
    process.wait()
    count = len([line for line in told if line.endswith(b"\n")])
    assert count >= 20
    lines = (tmp_path / "failed.jsonl").read_bytes().split(b"\n")
    assert numbers_in(lines[:count]) == list(range(count))
    for number in range(count):
        path = tmp_path / "failed" / numbered_failure(number).object_key
        assert numbers_in([path.read_bytes()]) == [number]
