"""Objects are decompressed piece by piece, whatever their chunks are, and damage is told."""

import gzip
import random
from collections.abc import Callable

import pytest
from backports import zstd

from hashrange.operations.transfers.import_records import InputCompressionType
from hashrange.transfers.formats.compression import (
    PIECE_MAX_BYTES,
    DamagedObject,
    GzipWriter,
    decompressor,
)

TEXT = b"".join(b'{"Item":{"id":{"S":"%d"}}}\n' % (number * 7919) for number in range(40_000))
PACK: dict[str, Callable[[bytes], bytes]] = {"GZIP": gzip.compress, "ZSTD": zstd.compress, "NONE": lambda text: text}
KINDS: tuple[InputCompressionType, ...] = ("GZIP", "ZSTD", "NONE")


def read(kind: InputCompressionType, content: bytes, sizes: random.Random) -> bytes:
    found, place = [], 0
    reader = decompressor(kind)
    while place < len(content):
        size = sizes.choice((1, 7, 1000, 70_000, 1_000_000))
        for piece in reader.feed(content[place : place + size]):
            assert 0 < len(piece) <= PIECE_MAX_BYTES
            found.append(piece)
        place += size
    reader.finish()
    return b"".join(found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_any_chunks_give_the_same_text(kind: InputCompressionType, seed: int) -> None:
    assert read(kind, PACK[kind](TEXT), random.Random(seed)) == TEXT


@pytest.mark.parametrize("kind", KINDS)
def test_parts_may_follow_one_another(kind: InputCompressionType) -> None:
    parts = [PACK[kind](part) for part in (b"one\n", b"", b"two\n", TEXT)]
    assert read(kind, b"".join(parts), random.Random(1)) == b"one\ntwo\n" + TEXT


@pytest.mark.parametrize("kind", ["GZIP", "ZSTD"])
def test_what_is_cut_off_or_damaged_is_told(kind: InputCompressionType) -> None:
    packed = PACK[kind](TEXT)
    with pytest.raises(DamagedObject, match="cut off"):
        read(kind, packed[: len(packed) // 2], random.Random(1))
    with pytest.raises(DamagedObject, match="it is no"):
        read(kind, TEXT, random.Random(1))
    middle = len(packed) // 2
    with pytest.raises(DamagedObject):
        read(kind, packed[:middle] + bytes(20) + packed[middle + 20 :], random.Random(1))


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_object_has_no_text(kind: InputCompressionType) -> None:
    assert read(kind, b"", random.Random(1)) == b""


@pytest.mark.parametrize("kind", ["GZIP", "ZSTD"])
def test_what_expands_a_thousandfold_comes_in_pieces(kind: InputCompressionType) -> None:
    bomb = PACK[kind](bytes(100_000_000))
    reader = decompressor(kind)
    pieces = reader.feed(bomb)
    for _ in range(100):
        assert len(next(pieces)) <= PIECE_MAX_BYTES
    rest = sum(map(len, pieces))
    assert rest > 70_000_000
    reader.finish()


def test_gzip_is_written_in_parts() -> None:
    writer = GzipWriter()
    packed = b"".join([writer.add(TEXT[:100_000]), writer.add(TEXT[100_000:]), writer.finish()])
    assert gzip.decompress(packed) == TEXT
    assert len(GzipWriter().finish()) == 20
