"""A list of a folder with very many names sorts, keeps and frees only those that come next."""

import inspect
import os
import sys
import tracemalloc
from itertools import islice
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import pytest

from hashrange.s3.folder_walk import FEW_AT_ONCE, FolderWalk, ListRange
from hashrange.s3.key_paths import names_of_key
from hashrange.s3.limits import LIST_KEYS_MAX

NAMES = 12_000


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with very many files."""
    folder = tmp_path_factory.mktemp("bucket")
    random = Random(3)
    for number in range(NAMES):
        os.close(os.open(folder / f"{random.getrandbits(64):016x}{number}", os.O_CREAT | os.O_WRONLY))
    return folder


def walk_over(folder: Path, at_once: int = FEW_AT_ONCE, **wanted: Any) -> FolderWalk:
    return FolderWalk(str(folder), ListRange(**wanted), is_folding=False, at_once=at_once)


def keys_of(walk: FolderWalk, most: int = NAMES) -> list[str]:
    return [one.key for one in islice(walk, most)]


@pytest.fixture
def folders_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The name of each folder that is read, each time."""
    read: list[str] = []
    scandir = os.scandir

    def noted(path: str) -> Any:
        read.append(os.path.basename(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", noted)
    return read


def test_a_page_keeps_few_names_and_reads_the_folder_once(bucket: Path, folders_read: list[str]) -> None:
    """All of 200,000 were made, sorted in one call of 300 ms, and freed at once, for a page of one."""
    names = sorted(os.listdir(bucket))
    for place in (0, NAMES // 2, NAMES - 10):
        folders_read.clear()
        tracemalloc.start()
        try:
            page = keys_of(walk_over(bucket, after=names[place].encode()), LIST_KEYS_MAX + 1)
            peak_bytes = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert page == names[place + 1 : place + 2 + LIST_KEYS_MAX]
        assert peak_bytes < 200 * NAMES // 2
        assert len(folders_read) == 1


def test_no_call_sorts_all(bucket: Path) -> None:
    lengths: list[int] = []

    def note(_frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call" and called.__name__ == "sort":
            lengths.append(len(called.__self__))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        found = keys_of(walk_over(bucket))
    finally:
        sys.setprofile(before)
    assert found == sorted(os.listdir(bucket))
    assert 0 < max(lengths, default=1) <= 2 * FEW_AT_ONCE


def test_a_place_need_not_be_the_text_of_a_key(tmp_path: Path) -> None:
    """It is what a client says, and compared as bytes."""
    for name in ("aa", "ab", "abz", "abé", "ac"):
        (tmp_path / name).touch()
    for at_once in (1, 2, 10):
        assert keys_of(walk_over(tmp_path, at_once, after=b"ab\x80zz")) == ["abé", "ac"]
        assert keys_of(walk_over(tmp_path, at_once, after=b"ab\xff")) == ["ac"]


def test_names_that_stand_for_no_object_are_passed_over(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"a{number}").mkdir()
        (tmp_path / f"b%4{number}").touch()
    (tmp_path / "c").touch()
    assert keys_of(walk_over(tmp_path, at_once=3)) == ["c"]


def test_a_folder_behind_whose_common_prefix_the_list_goes_on_is_read_once(
    tmp_path: Path, folders_read: list[str]
) -> None:
    (tmp_path / "a").mkdir()
    for number in range(20):
        (tmp_path / "a" / str(number)).touch()
    (tmp_path / "b").touch()
    assert keys_of(walk_over(tmp_path, at_once=3, delimiter="/")) == ["a/", "b"]
    assert folders_read.count("a") == 1


def test_no_function_calls_itself_for_each_long_segment(tmp_path: Path) -> None:
    """The folder in which a long segment goes on is merged with other names of its beginning, and no others."""
    keys = [f"{number:03d}" + "x" * 200 for number in range(400)]
    for key in keys:
        path = tmp_path.joinpath(*names_of_key(key, is_folding=False))
        path.parent.mkdir()
        path.touch()
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 200)
    try:
        assert keys_of(walk_over(tmp_path)) == keys
    finally:
        sys.setrecursionlimit(limit)
