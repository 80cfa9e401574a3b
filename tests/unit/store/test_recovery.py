"""What the logs tell: where commits begin and end, and that nothing behind a hole is believed."""

import shutil
from pathlib import Path

import pytest

from hashrange.errors import StorageCorruption
from hashrange.store.embedded.engine import open_engine
from hashrange.store.embedded.recovery import log_sequences

ROWS_OLD, ROWS_NEW = 150, 60
_VALUE = b"v" * 300


def key(number: int) -> bytes:
    return b"\0\0\0\1\0\0%06d" % number


@pytest.fixture
def two_logs(tmp_path: Path) -> Path:
    """A store as a crash between two memtables leaves it: rows in an older and in a younger log, none flushed."""
    running, copy = tmp_path / "running", tmp_path / "copy"
    running.mkdir()
    engine = open_engine(str(running))
    for number in range(ROWS_OLD):
        engine.put(key(number), _VALUE)
    engine.flush_wal(True)
    shutil.copytree(running, copy)
    engine.flush()
    for number in range(ROWS_OLD, ROWS_OLD + ROWS_NEW):
        engine.put(key(number), _VALUE)
    engine.flush_wal(True)
    young = max((running / "engine").glob("*.log"), key=lambda path: int(path.stem))
    shutil.copy(young, copy / "engine")
    engine.close()
    return copy


def logs(folder: Path) -> list[Path]:
    return sorted((folder / "engine").glob("*.log"), key=lambda path: int(path.stem))


def recovered(folder: Path) -> list[int]:
    engine = open_engine(str(folder))
    numbers = [int(each[6:]) for each in engine.keys(from_key=b"\0\0\0\1")]
    engine.close()
    return numbers


def cut(path: Path, size_bytes: int) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - size_bytes)


def test_sequences_of_neighbouring_logs_join(two_logs: Path) -> None:
    old, young = (log_sequences(path.read_bytes()) for path in logs(two_logs))
    assert old == (1, ROWS_OLD + 2, True), "one commit is the format row"
    assert young == (ROWS_OLD + 2, ROWS_OLD + ROWS_NEW + 2, True)


def test_a_torn_log_is_told_apart_from_a_whole_one(two_logs: Path) -> None:
    log = logs(two_logs)[0].read_bytes()
    whole = {len(log) - step for step in range(700) if log_sequences(log[: len(log) - step])[2]}
    assert len(whole) == 3, "three record ends within the last 700 bytes of records of some 330"


def test_whole_logs_are_replayed_whole(two_logs: Path) -> None:
    assert recovered(two_logs) == list(range(ROWS_OLD + ROWS_NEW))


@pytest.mark.parametrize("size_bytes", [1, 10, 400, 5000, 20_000, *range(325, 345)])
def test_nothing_behind_a_hole_is_believed(two_logs: Path, size_bytes: int) -> None:
    """Whether the older log ends within a record or exactly between two."""
    cut(logs(two_logs)[0], size_bytes)
    numbers = recovered(two_logs)
    assert numbers == list(range(len(numbers)))
    assert len(numbers) < ROWS_OLD
    assert recovered(two_logs) == numbers


@pytest.mark.parametrize("size_bytes", [1, 10, 400, 5000])
def test_a_torn_tail_of_the_younger_log_is_accepted(two_logs: Path, size_bytes: int) -> None:
    cut(logs(two_logs)[1], size_bytes)
    numbers = recovered(two_logs)
    assert numbers == list(range(len(numbers)))
    assert ROWS_OLD <= len(numbers) < ROWS_OLD + ROWS_NEW


@pytest.mark.parametrize("log", [0, 1])
def test_damage_before_the_tail_refuses_to_open_and_drops_nothing(two_logs: Path, log: int) -> None:
    path = logs(two_logs)[log]
    content = bytearray(path.read_bytes())
    content[5000:5050] = bytes(byte ^ 0xFF for byte in content[5000:5050])
    path.write_bytes(content)
    for _ in range(2):
        with pytest.raises(StorageCorruption, match="hashrange check"):
            open_engine(str(two_logs))
    content[5000:5050] = bytes(byte ^ 0xFF for byte in content[5000:5050])
    path.write_bytes(content)
    assert recovered(two_logs) == list(range(ROWS_OLD + ROWS_NEW))


@pytest.fixture
def flushed_and_two_logs(tmp_path: Path) -> Path:
    """As `two_logs`, but with rows flushed before, so that the older log is the first one in use."""
    running, copy = tmp_path / "running", tmp_path / "copy"
    running.mkdir()
    engine = open_engine(str(running))
    for number in range(10):
        engine.put(key(number), _VALUE)
    engine.flush()
    for number in range(10, 20):
        engine.put(key(number), _VALUE)
    engine.flush_wal(True)
    shutil.copytree(running, copy)
    engine.flush()
    for number in range(20, 30):
        engine.put(key(number), _VALUE)
    engine.flush_wal(True)
    shutil.copy(logs(running)[-1], copy / "engine")
    engine.close()
    return copy


@pytest.mark.parametrize("kept_bytes", [0, 3, 100, 340, 700])
def test_a_hole_at_the_first_log_in_use_is_seen(flushed_and_two_logs: Path, kept_bytes: int) -> None:
    oldest = logs(flushed_and_two_logs)[-2]
    cut(oldest, oldest.stat().st_size - kept_bytes)
    numbers = recovered(flushed_and_two_logs)
    assert numbers == list(range(len(numbers)))
    assert 10 <= len(numbers) < 20


def test_logs_no_longer_in_use_do_not_matter(flushed_and_two_logs: Path, tmp_path: Path) -> None:
    """A log that outlived its use, empty or torn, takes nothing from the ones in use."""
    for stale in (b"", b"\x00\x01\x02", b"torn" * 100):
        folder = tmp_path / f"stale{len(stale)}"
        shutil.copytree(flushed_and_two_logs, folder)
        (folder / "engine" / "000004.log").write_bytes(stale)
        assert recovered(folder) == list(range(30))


def test_an_empty_log_of_a_process_that_did_nothing_does_not_matter(tmp_path: Path) -> None:
    """Opened, killed at once, opened, written, killed: the first process's empty log lies before the second's."""
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    first.mkdir()
    engine = open_engine(str(first))
    shutil.copytree(first, second)
    empty = logs(second)[-1]
    engine.close()
    engine = open_engine(str(second))
    for number in range(10):
        engine.put(key(number), _VALUE)
    engine.flush_wal(True)
    shutil.copytree(second, third)
    (third / "engine" / empty.name).write_bytes(b"")
    assert len(logs(third)) == 2
    assert recovered(third) == list(range(10))
    engine.close()
