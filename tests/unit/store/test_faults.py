"""The engine's texts become our errors, each with a way out."""

import pytest

from hashrange.errors import (
    StorageBusy,
    StorageCorruption,
    StorageError,
    StorageFull,
    StorageLocked,
    StorageReadOnly,
)
from hashrange.store.embedded.faults import OPENING, READING, storage_error


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


def test_our_own_errors_pass() -> None:
    error = StorageFull("full")
    assert storage_error(error, "/d") is error
