"""Backups and restores that are killed, or meet a full disk, at any change of a file: the former copies are sound, what
appears is whole, and the next backup leaves no remains.
"""

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random

import pytest

from hashrange.cli.main import DONE, FAILED, WRONG_USE, main
from tests.support.copied_stores import (
    Content,
    FailingDisk,
    Killed,
    content_of,
    copies_in,
    file_names,
    needed_names,
    opened_shop,
    restored,
)
from tests.support.seeds import seeds

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds the path of a descriptor in /proc")

Printed = pytest.CaptureFixture[str]
STEP = 1 if seeds(0, 1) else 9
"""`make test` fails at every ninth change, `make soak` at each."""
FULL_MB = 4


class Before:
    """A data folder, and a repository with two copies of what it held before."""

    def __init__(self, root: Path) -> None:
        self.contents: list[Content] = []
        self.target, self.data_dir = root / "copies", root / "data"
        with opened_shop(self.data_dir) as shop:
            shop.make("orders")
            for number in range(3):
                shop.put("orders", str(number), f"{number}" * 2000)
                self.contents.append(shop.copied_content())
                if number < 2:
                    assert main(["backup", shop.endpoint, str(self.target)]) == DONE


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Before:
    return Before(tmp_path_factory.mktemp("before"))


def failing_numbers(place: Path) -> Iterator[tuple[int, Path]]:
    """The changes at which a run fails, each with an empty folder for the run."""
    for number in count(0, STEP):
        folder = place / str(number)
        folder.mkdir()
        yield number, folder
        shutil.rmtree(folder)


def contents_in(target: Path, place: Path) -> list[Content]:
    """What is in each copy, the oldest first."""
    return [restored(target, place, "--copy", name, "--no-check") for name in copies_in(target)]


def require_sound(target: Path, before: Before, expected: list[list[Content]], place: Path) -> None:
    """The copies of a repository are one of `expected`; the next backup succeeds, and leaves no remains."""
    found = contents_in(target, place)
    assert found in expected
    assert main(["check", str(target)]) == DONE
    assert main(["backup", str(before.data_dir), str(target), "--no-check"]) == DONE
    assert file_names(target) == needed_names(target)
    assert not (target / "unfinished").exists()
    assert contents_in(target, place) == [*found, before.contents[2]]


@pytest.mark.parametrize("options", [[], ["--no-check", "--keep", "1"]], ids=["checked", "kept"])
def test_kills_of_backups(before: Before, tmp_path: Path, options: list[str]) -> None:
    first, second, third = before.contents
    expected = [[first, second], [first, second, third]]
    if "--keep" in options:
        expected += [[second, third], [third]]
    for number, folder in failing_numbers(tmp_path):
        target = folder / "copies"
        shutil.copytree(before.target, target)
        with FailingDisk(target, number, Killed()) as disk:
            try:
                assert main(["backup", str(before.data_dir), str(target), *options]) == DONE
            except Killed:
                assert disk.has_failed
        require_sound(target, before, expected, folder / "restored")
        if not disk.has_failed:
            return


def test_kills_of_a_first_backup(before: Before, tmp_path: Path) -> None:
    """What it leaves may be no repository yet: the next backup makes it one."""
    for number, folder in failing_numbers(tmp_path):
        target = folder / "copies"
        with FailingDisk(target, number, Killed()) as disk:
            try:
                assert main(["backup", str(before.data_dir), str(target), "--no-check"]) == DONE
            except Killed:
                assert disk.has_failed
        if (target / "hashrange-repository").exists():
            require_sound(target, before, [[], [before.contents[2]]], folder / "restored")
        else:
            assert main(["backup", str(before.data_dir), str(target), "--no-check"]) == DONE
            assert contents_in(target, folder / "restored") == [before.contents[2]]
        if not disk.has_failed:
            return


@pytest.mark.parametrize("exists", [False, True], ids=["missing", "empty"])
def test_kills_of_restores(before: Before, tmp_path: Path, *, exists: bool) -> None:
    """A folder that is not whole is no data folder: no server and no command takes it for one."""
    words = ["restore", str(before.target)]
    for number, folder in failing_numbers(tmp_path):
        place = folder / "restored"
        if exists:
            place.mkdir()
        with FailingDisk(place, number, Killed()) as disk:
            try:
                assert main([*words, str(place)]) == DONE
            except Killed:
                assert disk.has_failed
        if (place / "engine").exists():
            assert content_of(place) == before.contents[1]
        else:
            if place.exists() and set(os.listdir(place)) - {"lock"}:
                assert main(["serve", "--data-dir", str(place), "--port", "0"]) == WRONG_USE
            assert main([*words, str(place), "--no-check"]) == DONE
            assert content_of(place) == before.contents[1]
            assert sorted(os.listdir(place)) == ["engine", "lock"]
        if not disk.has_failed:
            return


def test_a_disk_that_is_full_at_any_change(before: Before, tmp_path: Path, capsys: Printed) -> None:
    first, second, third = before.contents
    for number, folder in failing_numbers(tmp_path):
        target = folder / "copies"
        shutil.copytree(before.target, target)
        former = file_names(target)
        with FailingDisk(target, number, OSError(errno.ENOSPC, "No space left on device"), may_remove=True) as disk:
            code = main(["backup", str(before.data_dir), str(target), "--no-check"])
        if not disk.has_failed:
            assert code == DONE
            return
        assert code == FAILED
        told = f"hashrange: the disk that holds {target} is full. Make room, and try again.\n"
        assert capsys.readouterr().err == told
        if len(copies_in(target)) == 2:
            assert file_names(target) == former
        require_sound(target, before, [[first, second], [first, second, third]], folder / "restored")


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of FULL_MB in memory."""
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={FULL_MB}m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(command, check=False).returncode:
        pytest.skip("needs the right to mount a file system")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_disk_that_is_really_full(small: Path, tmp_path: Path, capsys: Printed) -> None:
    target = small / "copies"
    with opened_shop(tmp_path / "data") as shop:
        shop.make("orders")
        shop.put("orders", "first", Random(1).randbytes(100_000).hex())
        former = shop.copied_content()
        assert main(["backup", shop.endpoint, str(target)]) == DONE
        names = file_names(target)
        for number in range(30):
            shop.put("orders", str(number), Random(number).randbytes(150_000).hex())
        capsys.readouterr()
        assert main(["backup", shop.endpoint, str(target)]) == FAILED
        told = f"hashrange: the disk that holds {target} is full. Make room, and try again.\n"
        assert capsys.readouterr().err == told
        assert file_names(target) == names
        assert shop.snapshots() == []
        assert main(["backup", shop.endpoint, str(tmp_path / "roomy")]) == DONE
    assert restored(target, small / "restored") == former
    assert main(["restore", str(tmp_path / "roomy"), str(small / "restored")]) == FAILED
    assert capsys.readouterr().err == told.replace(str(target), f"{small}/restored")
    assert not (small / "restored").exists()
    assert main(["check", str(target)]) == DONE
