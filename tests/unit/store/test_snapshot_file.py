"""Snapshot files: what is written is read again; whatever else a file holds is refused as a whole."""

import io
import os
import random
from pathlib import Path

import pytest

from hashrange.store.snapshot_file import (
    READ_BYTES,
    SnapshotFileError,
    SnapshotReader,
    SnapshotWriter,
    _Pieces,
    opened_snapshot,
    replaced_file,
)
from hashrange.store.snapshot_file import StoredRow as Row

ROWS: list[Row] = [(b"", b""), (b"a", b"1"), (b"a\x00", b"\xff" * 300), (b"\xff" * 9, b"")]


def written(rows: list[Row], pieces: int = 1) -> bytes:
    file = io.BytesIO()
    writer = SnapshotWriter(file, 1.5)
    for piece in range(pieces):
        writer.write(rows[piece::pieces] if pieces == 1 else rows[piece : piece + 1])
    writer.finish()
    return file.getvalue()


def read(data: bytes) -> list[Row]:
    return list(SnapshotReader(io.BytesIO(data), "it").rows())


def test_rows_and_service_time_are_read_again() -> None:
    reader = SnapshotReader(io.BytesIO(written(ROWS, len(ROWS))), "it")
    assert reader.header.service_time == 1.5
    assert list(reader.rows()) == ROWS
    assert read(written([])) == []


def test_rows_longer_than_what_is_read_at_once() -> None:
    noise = random.Random(5).randbytes(3 * READ_BYTES)
    rows = [(b"a", b"x" * (5 * READ_BYTES)), (b"b", noise), (b"c", b"")]
    assert read(written(rows)) == rows


def test_a_long_row_is_not_copied_again_with_each_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    copied_bytes: list[int] = []

    class Counted(bytes):
        """Counts what it is appended to."""

        def __radd__(self, before: bytes) -> bytes:
            copied_bytes.append(len(before))
            return bytes(before) + bytes(self)

    row = (b"a", b"x" * (40 * READ_BYTES))
    data, more = written([row]), _Pieces._more
    monkeypatch.setattr(_Pieces, "_more", lambda pieces: Counted(more(pieces)))
    assert read(data) == [row]
    assert sum(copied_bytes) <= len(row[1])


def test_equal_rows_make_equal_files() -> None:
    assert written(ROWS) == written(ROWS)


def test_a_file_that_is_cut_or_changed_anywhere_is_refused() -> None:
    data = written(ROWS)
    for end in range(len(data)):
        with pytest.raises(SnapshotFileError):
            read(data[:end])
    body = data.index(b"\n") + 1
    refused = 0
    for at in range(body, len(data)):
        try:
            rows = read(data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :])
        except SnapshotFileError:
            refused += 1
        else:
            assert rows == ROWS  # a bit that zlib does not use
    assert refused > (len(data) - body) // 2
    with pytest.raises(SnapshotFileError, match="it is damaged or incomplete"):
        read(data + b"x")


def test_other_files_and_versions_are_told_apart() -> None:
    for data in (b"", b"PK\x03\x04", b"Hashrange snapshot {}\n", b"x" * (2 * READ_BYTES)):
        with pytest.raises(SnapshotFileError, match="it is no snapshot file of Hashrange"):
            read(data)
    with pytest.raises(SnapshotFileError, match="it has version 2; this Hashrange reads version 1"):
        read(written(ROWS).replace(b'"version":1', b'"version":2'))
    with pytest.raises(SnapshotFileError, match="it has version 2; this Hashrange reads version 1"):
        read(b'Hashrange snapshot {"version": 2, "members": "that version 1 lacks"}\n')
    with pytest.raises(SnapshotFileError, match="it is no snapshot file of Hashrange"):
        read(b'Hashrange snapshot {"version": 1, "x": ' + b"[" * 100_000 + b"\n")
    with pytest.raises(SnapshotFileError, match="cannot be read"), opened_snapshot("a\0b"):
        pass


def test_a_file_is_replaced_only_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "shop.snapshot"
    path.write_bytes(b"before")
    with pytest.raises(KeyError), replaced_file(path) as file:
        file.write(b"half")
        raise KeyError
    assert path.read_bytes() == b"before"
    with replaced_file(path) as file:
        file.write(b"after")
    assert path.read_bytes() == b"after"
    assert os.listdir(tmp_path) == ["shop.snapshot"]
