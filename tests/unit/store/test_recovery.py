"""Recovery from the write-ahead logs: where commits begin and end, and that nothing after a gap is recovered."""

import shutil
from pathlib import Path

import pytest

from hashrange.errors import StorageCorruption, StorageLost
from hashrange.store.embedded import files
from hashrange.store.embedded.engine import Engine, Pace, open_engine, set_pace
from hashrange.store.embedded.layout import FORMAT_KEY
from hashrange.store.embedded.manifest import data_files_reach
from hashrange.store.embedded.offline import read_offline
from hashrange.store.embedded.recovery import crc32c, log_sequences, torn_logs
from hashrange.store.embedded.synced import SyncedFile
from tests.support.kills import copy_as_killed

ROWS_OLD, ROWS_NEW = 150, 60
_VALUE = b"v" * 300


def key(number: int) -> bytes:
    return b"\0\0\0\1\0\0%06d" % number


@pytest.fixture
def two_logs(crashed: Path, tmp_path: Path) -> Path:
    """A store after a crash between two memtables: rows in an older and a newer log, none flushed."""
    return shutil.copytree(crashed, tmp_path / "copy")


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `two_logs` is a copy of."""
    folder = tmp_path_factory.mktemp("crashed")
    running, copy = folder / "running", folder / "copy"
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
    """This holds whether the older log ends within a record or exactly between two."""
    cut(logs(two_logs)[0], size_bytes)
    numbers = recovered(two_logs)
    assert numbers == list(range(len(numbers)))
    assert len(numbers) < ROWS_OLD
    assert recovered(two_logs) == numbers


@pytest.mark.parametrize("size_bytes", [1, 10, 400, 5000, 20_000, *range(325, 345)])
def test_who_only_reads_stops_at_the_hole_as_well(two_logs: Path, size_bytes: int) -> None:
    cut(logs(two_logs)[0], size_bytes)
    before = [path.read_bytes() for path in logs(two_logs)]
    with read_offline(str(two_logs)) as engine:
        numbers = [int(each[6:]) for each in engine.keys(from_key=b"\0\0\0\1")]
    assert [path.read_bytes() for path in logs(two_logs)] == before
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
    """A store as in `two_logs`, with rows flushed before, so that the older log is the first one in use."""
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
    """An outdated log file, empty or torn, does not affect the logs in use."""
    for stale in (b"", b"\x00\x01\x02", b"torn" * 100):
        folder = tmp_path / f"stale{len(stale)}"
        shutil.copytree(flushed_and_two_logs, folder)
        (folder / "engine" / "000004.log").write_bytes(stale)
        assert recovered(folder) == list(range(30))


def test_an_empty_log_of_a_process_that_did_nothing_does_not_matter(tmp_path: Path) -> None:
    """Open, kill at once, open, write, kill: the first process's empty log lies before the second's log."""
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


LARGE = [bytes([number]) * 20_000 for number in range(1, 41)]


@pytest.fixture
def large_puts(tmp_path: Path) -> Path:
    """A store killed after 40 puts of 20 KB, most of whose log records span several fragments."""
    running, copy = tmp_path / "running", tmp_path / "copy"
    running.mkdir()
    engine = open_engine(str(running))
    for number, value in enumerate(LARGE):
        engine.put(key(number), value)
    engine.flush_wal(True)
    shutil.copytree(running, copy)
    engine.close()
    return copy


def zero(path: Path, first: int, end: int | None = None) -> None:
    """Overwrite the bytes from `first` to `end` with zeros; a negative `end` counts from the end of the file."""
    content = bytearray(path.read_bytes())
    lower, upper, _ = slice(first, end).indices(len(content))
    content[lower:upper] = bytes(upper - lower)
    path.write_bytes(content)


def checked(folder: Path) -> bool:
    """True if the offline tools can read the folder; asserts that they do not change the logs."""
    before = {path.name: path.read_bytes() for path in logs(folder)}
    try:
        with read_offline(str(folder)) as engine:
            assert engine.get(FORMAT_KEY) is not None
    except StorageCorruption:
        return False
    finally:
        assert {path.name: path.read_bytes() for path in logs(folder)} == before
    return True


@pytest.mark.parametrize("size_bytes", [512, 600, 4096, 10_000, 32_768, 33_000, 100_000, 500_000])
def test_zeros_at_the_end_of_the_last_log_are_a_torn_tail(large_puts: Path, size_bytes: int) -> None:
    """Some file systems leave zeros where data had not reached the disk."""
    zero(logs(large_puts)[-1], -size_bytes)
    assert checked(large_puts)
    numbers = recovered(large_puts)
    assert numbers == list(range(len(numbers)))
    assert len(LARGE) - 2 - size_bytes // 20_000 <= len(numbers) < len(LARGE)
    assert recovered(large_puts) == numbers


def test_checksums_are_those_of_the_engine() -> None:
    assert crc32c(b"123456789") == 0xE3069283, "RFC 3720, appendix B.4, has others of the same kind"
    assert crc32c(bytes(32)) == 0x8A9136AA


def test_zeros_behind_whole_records_take_none_of_them_away(large_puts: Path) -> None:
    with logs(large_puts)[-1].open("ab") as log:
        log.write(bytes(10_000))
    assert checked(large_puts)
    assert recovered(large_puts) == list(range(len(LARGE)))


def test_a_value_that_ends_in_zeros_is_no_torn_tail(tmp_path: Path) -> None:
    running, copy = tmp_path / "running", tmp_path / "copy"
    running.mkdir()
    engine = open_engine(str(running))
    engine.put(key(0), b"v" * 40_000)
    engine.put(key(1), b"v" + bytes(40_000))
    engine.flush_wal(True)
    shutil.copytree(running, copy)
    engine.close()
    size_bytes = logs(copy)[-1].stat().st_size
    assert checked(copy)
    assert torn_logs(str(copy / "engine")) == {}
    assert logs(copy)[-1].stat().st_size == size_bytes
    assert recovered(copy) == [0, 1]


def test_a_last_log_of_zeros_leaves_the_log_before_it(two_logs: Path) -> None:
    older, younger = logs(two_logs)
    zero(younger, 0)
    zero(older, -2000)
    assert checked(two_logs)
    numbers = recovered(two_logs)
    assert numbers == list(range(len(numbers)))
    assert ROWS_OLD - 8 <= len(numbers) < ROWS_OLD


@pytest.mark.parametrize("log, first, end", [(0, -2000, None), (1, 5000, 9000), (0, 5000, 9000)])
def test_zeros_that_something_follows_are_damage(two_logs: Path, log: int, first: int, end: int | None) -> None:
    path = logs(two_logs)[log]
    zero(path, first, end)
    spoilt = path.read_bytes()
    assert not checked(two_logs)
    with pytest.raises(StorageCorruption, match="hashrange check"):
        open_engine(str(two_logs))
    assert path.read_bytes() == spoilt


@pytest.mark.parametrize("place", [20_000, 300_000])
def test_damage_before_a_torn_tail_of_zeros_is_damage(large_puts: Path, place: int) -> None:
    path = logs(large_puts)[-1]
    zero(path, -10_000)
    content = bytearray(path.read_bytes())
    content[place] ^= 0xFF
    path.write_bytes(content)
    assert not checked(large_puts)
    with pytest.raises(StorageCorruption, match="hashrange check"):
        open_engine(str(large_puts))
    assert path.read_bytes() == content


def test_garbage_at_the_end_of_the_last_log_is_damage(large_puts: Path) -> None:
    path = logs(large_puts)[-1]
    content = path.read_bytes()
    path.write_bytes(content[:-10_000] + b"\xa5" * 10_000)
    assert not checked(large_puts)
    with pytest.raises(StorageCorruption, match="hashrange check"):
        open_engine(str(large_puts))


def contents(folder: Path) -> dict[str, bytes]:
    """Contents of the engine's data files, logs and MANIFEST."""
    kinds = {".sst", ".log"}
    paths = [path for path in (folder / "engine").iterdir() if path.suffix in kinds or path.name.startswith("MANIFEST")]
    return {path.name: path.read_bytes() for path in paths}


def assert_refused(folder: Path, sentence: str) -> None:
    """Assert that a server and `hashrange check` refuse the folder with this sentence, and change nothing."""
    before = contents(folder)
    for _ in range(2):
        with pytest.raises(StorageLost, match=sentence):
            open_engine(str(folder))
        with pytest.raises(StorageLost, match=sentence), read_offline(str(folder)):
            pass
    assert contents(folder) == before


@pytest.mark.parametrize("logs_fixture", ["two_logs", "flushed_and_two_logs"])
def test_an_older_log_that_is_missing_is_refused(request: pytest.FixtureRequest, logs_fixture: str) -> None:
    folder = request.getfixturevalue(logs_fixture)
    older = logs(folder)[-2]
    content = older.read_bytes()
    older.unlink()
    assert_refused(folder, r"its data files end with commit \d+, and its logs begin with commit \d+")
    older.write_bytes(content)
    assert len(recovered(folder)) in {30, ROWS_OLD + ROWS_NEW}


@pytest.mark.parametrize("size_bytes", [1, 400, 335, 5000, 1_000_000])
def test_an_older_log_that_lacks_what_was_acknowledged_is_refused(two_logs: Path, size_bytes: int) -> None:
    """Nothing after a gap is recovered, so the complete newer log does not count."""
    file = SyncedFile(files.by_name(str(two_logs)))
    file.note(ROWS_OLD + ROWS_NEW, 0.0)
    file.close()
    older = logs(two_logs)[0]
    content = older.read_bytes()
    older.write_bytes(content[:-size_bytes])
    assert_refused(two_logs, "holds less than was acknowledged")
    older.write_bytes(content)
    assert recovered(two_logs) == list(range(ROWS_OLD + ROWS_NEW))


def manifest(folder: Path) -> Path:
    return folder / "engine" / (folder / "engine" / "CURRENT").read_text().strip()


def killed_copy(engine: Engine, running: Path, copy: Path) -> Path:
    engine.flush_wal(True)
    copy_as_killed(running, copy)
    return copy


def test_a_manifest_that_is_cut_or_older_is_refused_or_does_not_matter(tmp_path: Path) -> None:
    running = tmp_path / "running"
    running.mkdir()
    engine = open_engine(str(running))
    set_pace(engine, Pace.WRITES, is_in_memory=False)  # no compaction, so an older MANIFEST's files stay
    for number in range(10):
        engine.put(key(number), _VALUE)
    engine.flush()
    for number in range(10, 20):
        engine.put(key(number), _VALUE)
    older = manifest(running).read_bytes()
    engine.flush()
    for number in range(20, 30):
        engine.put(key(number), _VALUE)
    killed = killed_copy(engine, running, tmp_path / "killed")
    engine.close()
    whole = manifest(killed).read_bytes()
    assert whole.startswith(older)
    refused = 0
    for kept_bytes in {*range(len(older), len(whole), 7), len(whole) - 1}:
        folder = tmp_path / str(kept_bytes)
        shutil.copytree(killed, folder)
        manifest(folder).write_bytes(whole[:kept_bytes])
        if data_files_reach(str(folder / "engine")) == data_files_reach(str(killed / "engine")):
            assert recovered(folder) == list(range(30))
        else:
            assert_refused(folder, r"its data files end with commit 11, and its logs begin with commit 22")
            refused += 1
    assert refused > 5


def test_the_manifest_tells_how_far_the_data_files_go(tmp_path: Path) -> None:
    """This holds after flushes, compactions, range deletions, clean stops and recoveries."""
    running = tmp_path / "running"
    running.mkdir()
    for life in range(4):
        engine = open_engine(str(running))
        for number in range(10 * life):
            engine.put(key(number), _VALUE)
            engine.delete(key(number // 2))
        killed = killed_copy(engine, running, tmp_path / f"killed{life}")
        last = engine.latest_sequence_number()
        engine.flush()
        engine.compact_range(None, None)
        engine.close()
        for folder in (running, killed):
            recovered(folder)
            reach = data_files_reach(str(folder / "engine"))
            assert reach is not None
            assert reach.sequence == last
