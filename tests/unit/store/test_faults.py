"""The engine's error texts become our exceptions, each with a remedy."""

import pytest

from hashrange.errors import (
    StorageBusy,
    StorageCorruption,
    StorageError,
    StorageFull,
    StorageLocked,
    StorageReadOnly,
)
from hashrange.store.embedded.engine_errors import CLOSING, OPENING, READING, REOPENING, SERVING, Advice, storage_error


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("IO error: No space left on device: While appending to file: /d/000004.log", StorageFull),
        ("IO error: File too large: While appending to file: /d/000004.log", StorageFull),
        ("IO error: Disk quota exceeded: While appending", StorageFull),
        ("Result incomplete: Write stall", StorageBusy),
        ("Result incomplete: Too many internal keys skipped.", StorageBusy),
        ("Corruption: checksum mismatch", StorageCorruption),
        ("Corruption: While creating a new Db, wal_dir contains existing log file: : 000004.log", StorageCorruption),
        ("Corruption: Corruption: IO error: No such file or directory: While open a file", StorageCorruption),
        ("IO error: While open a file for appending: /d/LOG: Read-only file system", StorageReadOnly),
        ("IO error: While mkdir if missing: /d: Permission denied", StorageReadOnly),
        ("IO error: While lock file: /d/LOCK: Resource temporarily unavailable", StorageLocked),
        ("IO error: lock hold by current process, acquire time 1 acquiring thread 2: /d/LOCK: No locks available",
         StorageLocked),
        ("IO error: Input/output error: While fdatasync: /d/000004.log", StorageError),
        ("something nobody has seen", StorageError),
    ],
)  # fmt: skip
def test_each_text_has_its_kind(text: str, kind: type[StorageError]) -> None:
    error = storage_error(Exception(text), "/d")
    assert type(error) is kind
    assert "/d" in str(error)
    assert not str(error)[0].isupper(), "it follows a name and a colon"
    assert text in str(error), "the operator also sees the engine's own words"


def test_who_only_reads_is_not_told_to_write_or_to_check_again() -> None:
    for text in ("Corruption: checksum mismatch", "IO error: Permission denied", "IO error: no file"):
        told = str(storage_error(Exception(text), "/d", READING))
        assert "hashrange check" not in told
        assert "write" not in told
        assert "serve" not in told
    assert "serve" not in str(storage_error(Exception("IO error: no file"), "/d", OPENING))


@pytest.mark.parametrize(
    ("advice", "way_out"),
    [
        (SERVING, "Make room: writing then goes on by itself."),
        (OPENING, "Make room, and start the server again."),
        (REOPENING, "Make room: writing then goes on by itself."),
        (CLOSING, "Make room before the server is started again."),
        (READING, "Make room, and try again."),
    ],
)
def test_a_full_disk_is_told_with_what_then_happens(advice: Advice, way_out: str) -> None:
    assert way_out in str(storage_error(OSError(28, "No space left on device"), "/d", advice))


@pytest.mark.parametrize("reason", ["Is a directory", "Too many levels of symbolic links", "No locks available"])
def test_a_lock_file_that_is_none_is_not_told_as_another_process(reason: str) -> None:
    for does in ("while open a file for lock", "While lock file"):
        told = storage_error(Exception(f"IO error: {does}: /d/engine/LOCK: {reason}"), "/d", OPENING)
        assert type(told) is StorageError
        assert f"/d/engine/LOCK: {reason}" in str(told)


def test_a_kind_is_not_recognised_by_the_folders_name() -> None:
    place = "/checksum/while lock file/unavailable/no space left/permission denied/write stall"
    told = storage_error(Exception(f"IO error: While open: {place}/engine/1.sst: Input/output error"), place)
    assert type(told) is StorageError
    assert place in str(told)


def test_what_the_engine_says_in_several_lines_is_told_in_one() -> None:
    text = (
        "Corruption: Sst file size mismatch: /d/000009.sst.\nExpected 9,  actual size 8\n"
        " The file /d/MANIFEST may be corrupted.\n"
    )
    told = str(storage_error(Exception(text), "/d"))
    assert "\n" not in told
    assert told.endswith(
        "(Corruption: Sst file size mismatch: /d/000009.sst. Expected 9, actual size 8 The file"
        " /d/MANIFEST may be corrupted.)"
    )


def test_our_own_errors_pass() -> None:
    error = StorageFull("full")
    assert storage_error(error, "/d") is error
