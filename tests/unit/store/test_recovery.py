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
