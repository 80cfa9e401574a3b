"""A zip is unpacked whole or not at all, and never outside its folder; code in place is found without being run."""

import io
import os
import stat
import struct
import sys
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from hashrange.functions import code
from hashrange.functions.code import CodeUnusable, find_code, fingerprint, unpack_code

Adapt = Callable[[zipfile.ZipInfo], None]


def zipped(*members: tuple[str, bytes, int], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of members: name, content, mode."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content, mode in members:
            info = zipfile.ZipInfo(name)
            info.create_system, info.external_attr, info.compress_type = 3, mode << 16, method
            with warnings.catch_warnings(action="ignore"):  # of a second member of one name
                archive.writestr(info, content)
    return buffer.getvalue()


def test_files_folders_and_modes(tmp_path: Path) -> None:
    folder = str(tmp_path / "code")
    unpack_code(
        zipped(
            ("app.py", b"1", 0o100600),
            ("bin/tool", b"2", 0o100755),
            ("empty/", b"", 0o040755),
            ("app.py", b"3", 0o104777),
            ("a/./b", b"4", 0),
        ),
        folder,
    )
    found = {path.relative_to(folder).as_posix() for path in Path(folder).rglob("*")}
    assert found == {"app.py", "bin", "bin/tool", "empty", "a", "a/b"}
    assert Path(folder, "app.py").read_bytes() == b"3"
    modes = {name: stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode) for name in ("app.py", "bin/tool", "a/b")}
    assert modes == {"app.py": 0o755, "bin/tool": 0o755, "a/b": 0o644}


@pytest.mark.parametrize("place", range(code._CHUNK_BYTES - 4, code._CHUNK_BYTES + 2))
def test_entries_are_counted_wherever_they_begin(place: int) -> None:
    data = bytearray(3 * code._CHUNK_BYTES)
    for start in (0, place, len(data) - 4):
        data[start : start + 4] = b"PK\x01\x02"
    assert code._entries_max(bytes(data)) == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "Could not unzip uploaded file"),
        (b"no zip", "Could not unzip uploaded file"),
        (zipped(("a", b"x" * 1000, 0))[:-30], "Could not unzip uploaded file"),
        (zipped(("../a", b"", 0)), "is outside of the folder"),
        (zipped(("a/../../b", b"", 0)), "is outside of the folder"),
        (zipped(("/etc/a", b"", 0)), "is outside of the folder"),
        (zipped(("\\a", b"", 0)), "is outside of the folder"),
        (zipped(("..\\a", b"", 0)), "is outside of the folder"),
        (zipped(("C:/a", b"", 0)), "is outside of the folder"),
        (zipped(("a", b"/etc/passwd", 0o120777)), "is no file or folder"),
        (zipped(("a", b"", 0o020666)), "is no file or folder"),
        (zipped(("a", b"", 0o010666)), "is no file or folder"),
        (zipped(("a", b"x" * 1000, 0), method=zipfile.ZIP_LZMA), "is compressed by a method"),
        (zipped(("a", b"", 0), ("a/b", b"", 0)), "is both a file and a folder"),
        (zipped(("a/b", b"", 0), ("a", b"", 0)), "is both a file and a folder"),
        (zipped(("x" * 300, b"", 0)), "has too long a name"),
        (zipped(("x/" * 600, b"", 0)), "has too long a name"),
    ],
)
def test_bad_zips_leave_nothing(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(CodeUnusable, match=message):
        unpack_code(content, str(tmp_path / "code"))
    assert list(tmp_path.iterdir()) == []


def changed(content: bytes, signature: bytes, offset: int, form: str, value: int) -> bytes:
    """A zip with a field of the first structure that has this signature changed."""
    changed = bytearray(content)
    struct.pack_into(form, changed, content.index(signature) + offset, value)
    return bytes(changed)


def test_an_encrypted_zip(tmp_path: Path) -> None:
    content = changed(zipped(("a", b"1", 0)), b"PK\x01\x02", 8, "<H", 1)
    with pytest.raises(CodeUnusable, match="is encrypted"):
        unpack_code(content, str(tmp_path / "code"))


@pytest.mark.parametrize("size_bytes", [10, 300_000_000])
def test_a_zip_that_lies_about_its_size(tmp_path: Path, size_bytes: int) -> None:
    content = changed(zipped(("a", b"x" * 1000, 0)), b"PK\x01\x02", 24, "<I", size_bytes)
    with pytest.raises(CodeUnusable):
        unpack_code(content, str(tmp_path / "code"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("limit", "most", "message"),
    [
        ("CODE_ZIPPED_BYTES_MAX", 10, "Zipped size must be smaller than 10 bytes"),
        ("CODE_UNZIPPED_BYTES_MAX", 9, "Unzipped size must be smaller than 9 bytes"),
        ("CODE_FILES_MAX", 1, "more than 1 files"),
    ],
)
def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int, message: str) -> None:
    monkeypatch.setattr(code, limit, most)
    with pytest.raises(CodeUnusable, match=message):
        unpack_code(zipped(("a", b"12345", 0), ("b", b"12345", 0)), str(tmp_path / "code"))


def test_folders_and_modules_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some_package" / "deep").mkdir(parents=True)
    (tmp_path / "some_package" / "__init__.py").write_text("raise AssertionError")
    (tmp_path / "single_module.py").write_text("raise AssertionError")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    root = str(tmp_path)
    assert find_code(root) == (root, None, root)
    assert find_code("single_module:run") == (root, "single_module.run", root)
    assert find_code("some_package.deep:a.b") == (root, "some_package.deep.a.b", os.path.join(root, "some_package"))


@pytest.mark.parametrize("name", ["not/there", "not_there_either:run", "sys:exit", "a b:c", ":c", "a:"])
def test_code_that_is_not_there(name: str) -> None:
    with pytest.raises(CodeUnusable, match="was not found"):
        find_code(name)


def test_the_fingerprint_follows_files(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.py").write_text("1")
    seen = [fingerprint(str(tmp_path))]
    assert fingerprint(str(tmp_path)) == seen[0]
    for path, text in (("a/b.py", "22"), ("a/c.py", ""), ("a/c.py", None)):
        if text is None:
            (tmp_path / path).unlink()
        else:
            (tmp_path / path).write_text(text)
        seen.append(fingerprint(str(tmp_path)))
    os.utime(tmp_path / "a" / "b.py", ns=(1, 1))
    seen.append(fingerprint(str(tmp_path)))
    assert len(set(seen)) == 5 - (seen[1] == seen[3])
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "d.pyc").write_text("")
    assert fingerprint(str(tmp_path)) == seen[-1]
    (tmp_path / "broken").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert len(fingerprint(str(tmp_path))) == 32
