"""Spoiled and hostile zips: each is unpacked below its folder or refused, never anything else,
and nothing of a refused one is left.

`HASHRANGE_FUZZ_REQUESTS` sets the number of zips, `HASHRANGE_FUZZ_SEED` the first seed.
"""

import io
import os
import random
import shutil
import stat
import struct
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from hashrange.functions import code as module
from hashrange.functions.code import CodeUnusable, unpack_code
from tests.support.function_servers import FunctionServer, zip_of

ZIPS = 4 * int(os.environ.get("HASHRANGE_FUZZ_REQUESTS", "125"))
SEED = int(os.environ.get("HASHRANGE_FUZZ_SEED", "1"))
CREATIONS = min(ZIPS // 20, 1000)
GOOD = b"def handler(event, context): return 1"
NAMES = [
    "app.py", "app.py", "a/b.py", "a/", "../x", "/x", "C:/x", "a\\..\\b", "\\x", "\u00e9.py", "x" * 255, "x" * 256,
    "a/" * 400 + "x", "a//b",
    "./a", ".", "./", "..", "a/./b", "a/../../b", "\x01", "a\x00b", "", "CON", "\udc80", "app.py/x", "a", " ", "/",
    "//x", "a\n",
]  # fmt: skip
KINDS = [0, 0, 0o644, 0o755, 0o100644, 0o120777, 0o060000, 0o020000, 0o010000, 0o140000, 0o040755, 0o104755, 0xFFFF]
MARKS = [b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07", b"PK\x07\x08"]
NUMBERS = [0, 1, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1]
LONG_NUMBERS = [0, 1, 44, 2**32, 2**40, 2**63 - 1, 2**63, 2**64 - 1]


def make_zip(generator: random.Random) -> bytes:
    """A zip of up to five members with odd names, kinds and methods, some of them twice."""
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w") as archive:
        warnings.simplefilter("ignore")  # of names that are there twice
        for _ in range(generator.randint(0, 5)):
            info = zipfile.ZipInfo(generator.choice(NAMES))
            info.external_attr = generator.choice(KINDS) << 16
            info.create_system = generator.choice((0, 3, 3, 19))
            info.compress_type = generator.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))
            content = generator.choice((b"", GOOD, b"y" * 20_000, generator.randbytes(100)))
            try:
                archive.writestr(info, content)
            except UnicodeEncodeError:
                continue
        archive.comment = generator.choice((b"", b"", b"PK\x05\x06", b"PK\x01\x02" * 20))
    return buffer.getvalue()


def spoil(zipped: bytes, generator: random.Random) -> bytes:
    """The zip with up to eight changes, mostly of what describes its members."""
    changed = bytearray(zipped)
    for _ in range(generator.choice((0, 1, 1, 2, 4, 8))):
        at = generator.randrange(len(changed) + 1)
        if generator.random() < 0.7 and (start := changed.find(generator.choice(MARKS))) >= 0:
            at = min(len(changed), start + generator.randrange(48))
        match generator.randrange(7):
            case 0:
                changed[at : at + 1] = generator.randbytes(1)
            case 1:
                changed[at : at + 4] = struct.pack("<I", generator.choice(NUMBERS))
            case 2:
                changed[at : at + 2] = b"\xff\xff"
            case 3:
                del changed[at : at + generator.randrange(9)]
            case 4:
                changed[at:at] = generator.choice(MARKS) + generator.randbytes(generator.randrange(60))
            case 5:
                changed = changed[:at]
            case _:
                changed += generator.randbytes(generator.randrange(40))
    return with_long_numbers(bytes(changed), generator) if generator.random() < 0.15 else bytes(changed)


def with_long_numbers(zipped: bytes, generator: random.Random) -> bytes:
    """The zip with a ZIP64 end before its own, whose numbers are mostly wrong."""
    at = zipped.rfind(b"PK\x05\x06")
    if at < 0:
        return zipped
    numbers = [generator.choice((*LONG_NUMBERS, at, generator.randrange(2**64))) for _ in range(5)]
    end = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, *numbers[:4])
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, generator.choice((at, numbers[4])), 1)
    return zipped[:at] + end + locator + zipped[at:]


def check_unpacked(folder: Path) -> None:
    """Fail unless there are plain files and folders only."""
    total_bytes = 0
    for path in folder.rglob("*"):
        status = path.lstat()
        assert stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode), path
        assert not status.st_mode & (stat.S_ISUID | stat.S_ISGID), path
        total_bytes += status.st_size if stat.S_ISREG(status.st_mode) else 0
    assert total_bytes <= 200_000


def test_a_spoiled_zip_is_unpacked_or_refused(tmp_path: Path) -> None:
    outcomes = {"unpacked": 0, "refused": 0}
    above = tmp_path / "above"
    above.mkdir()
    folder = above / "code"
    for seed in range(SEED, SEED + ZIPS):
        generator = random.Random(seed)
        zipped = spoil(make_zip(generator), generator)
        try:
            unpack_code(zipped, str(folder))
        except CodeUnusable as error:
            outcomes["refused"] += 1
            assert str(error), seed
            assert os.listdir(above) == [], seed
            continue
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
        outcomes["unpacked"] += 1
        assert os.listdir(above) == ["code"], seed
        check_unpacked(folder)
        shutil.rmtree(folder)
    assert os.listdir(tmp_path) == ["above"]
    assert min(outcomes.values()) > ZIPS // 20


BOMB_BYTES = 20_000_000


def bomb() -> bytes:
    """A small zip of a large file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("app.py", bytes(BOMB_BYTES))
    return buffer.getvalue()


def lying_bomb() -> bytes:
    """A small zip of a large file, said to have 1,000 bytes."""
    return bomb().replace(struct.pack("<I", BOMB_BYTES), struct.pack("<I", 1000))


def overlapping_bomb() -> bytes:
    """A zip whose 1,000 members are all the same part of it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("app.py", bytes(50_000))
        (member,) = archive.filelist
        archive.filelist += [member] * 999
    return buffer.getvalue()


@pytest.mark.parametrize("make", [bomb, lying_bomb, overlapping_bomb])
def test_a_bomb_takes_little_memory_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[], bytes]
) -> None:
    monkeypatch.setattr(module, "CODE_UNZIPPED_BYTES_MAX", 1_000_000)
    zipped = make()
    tracemalloc.start()
    try:
        with pytest.raises(CodeUnusable):
            unpack_code(zipped, str(tmp_path / "code"))
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < BOMB_BYTES // 4
    assert os.listdir(tmp_path) == []


def test_more_members_than_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are counted before an object is made of each."""
    monkeypatch.setattr(module, "CODE_FILES_MAX", 100)
    monkeypatch.setattr(zipfile, "ZipFile", None)
    with pytest.raises(CodeUnusable):
        unpack_code(b"PK\x01\x02" * 101, str(tmp_path / "code"))
    assert os.listdir(tmp_path) == []


def test_functions_of_spoiled_zips_exist_or_are_refused(tmp_path: Path) -> None:
    server = FunctionServer(tmp_path)
    created: set[str] = set()
    try:
        for seed in range(SEED, SEED + CREATIONS):
            generator = random.Random(seed)
            zipped = spoil(make_zip(generator) if seed % 2 else zip_of(app_py=GOOD.decode()), generator)
            try:
                server.create(f"f{seed}", "", Code={"ZipFile": zipped})
                created.add(f"f{seed}")
            except ClientError as error:
                assert error.response["Error"]["Code"] == "InvalidParameterValueException", seed
        names = {one["FunctionName"] for one in server.functions.list_functions()["Functions"]}
        assert names == created
        assert 0 < len(created) < CREATIONS
        for name in created:
            assert server.invoke(name) == (None, 1)
        assert len(server.code_folders()) <= len(created)
    finally:
        server.stop()
    assert list(server.temporary.iterdir()) == []
    assert " ERROR " not in server.log()
