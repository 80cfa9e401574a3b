"""A folder is removed whatever a function's code has made of it, and nothing outside of it is touched."""

import os
from pathlib import Path

import pytest

from hashrange.functions.removal import remove_tree

DEPTH = 3000
"""More levels than Python may call itself, and a path longer than the system takes."""


def make_deep(folder: Path, depth: int = DEPTH) -> None:
    """A chain of folders, with a file in each; made with short names, since no whole path could be used."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d" * 20, dir_fd=here)
        above, here = here, os.open("d" * 20, os.O_RDONLY, dir_fd=here)
        os.close(above)
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


@pytest.mark.skipif(os.mkdir not in os.supports_dir_fd, reason="needs folders by descriptor to make such a tree")
def test_a_deep_tree(tmp_path: Path) -> None:
    folder = tmp_path / "code"
    folder.mkdir()
    make_deep(folder)
    remove_tree(str(folder))
    assert os.listdir(tmp_path) == []


def test_links_are_not_followed(tmp_path: Path) -> None:
    folder, outside = tmp_path / "code", tmp_path / "outside"
    (folder / "inner").mkdir(parents=True)
    outside.mkdir()
    (outside / "kept").touch()
    (folder / "to_folder").symlink_to(outside)
    (folder / "inner" / "to_file").symlink_to(outside / "kept")
    (folder / "inner" / "dangling").symlink_to("nothing")
    remove_tree(str(folder))
    assert os.listdir(tmp_path) == ["outside"]
    assert os.listdir(outside) == ["kept"]


def test_a_folder_that_was_replaced_by_a_link(tmp_path: Path) -> None:
    folder, outside = tmp_path / "code", tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    folder.symlink_to(outside)
    remove_tree(str(folder))
    assert os.listdir(tmp_path) == ["outside"]
    assert os.listdir(outside) == ["kept"]


def test_folders_without_rights(tmp_path: Path) -> None:
    folder = tmp_path / "code"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "file").touch()
    for one in (folder / "a" / "b", folder / "a", folder):
        one.chmod(0)
    remove_tree(str(folder))
    assert os.listdir(tmp_path) == []


def test_names_like_its_own_and_many_branches(tmp_path: Path) -> None:
    folder = tmp_path / "code"
    for number in range(3):
        (folder / f".removed-{number}" / f".removed-{number}" / "x").mkdir(parents=True)
        (folder / "a" / str(number) / "b" / str(number)).mkdir(parents=True)
    (folder / ".removed-3").touch()
    remove_tree(str(folder))
    assert os.listdir(tmp_path) == []


def test_what_is_not_there_is_left_alone(tmp_path: Path) -> None:
    remove_tree(str(tmp_path / "nothing"))
    assert os.listdir(tmp_path) == []
