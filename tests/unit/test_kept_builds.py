"""Is what tests build kept, and built anew whenever something has changed that goes into it?"""

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.programs import prepare
from tests.support.kept_builds import DONE, FORMER_BUILDS_MAX, digest_of, identity_of, kept_build, show_in

COMPILER = """
import pathlib, sys
place = pathlib.Path("made")
place.mkdir(exist_ok=True)
(place / "program").write_text("".join(pathlib.Path(name).read_text() for name in sys.argv[1:]))
with open({log!r}, "a") as log:
    log.write("built ")
"""


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of builds of this test."""
    folder = tmp_path / "kept"
    monkeypatch.setattr("tests.support.kept_builds.KEPT", folder)
    return folder


class Project:
    """Two sources, and a compiler that joins them."""

    def __init__(self, folder: Path, log: Path) -> None:
        self.folder, self.log = folder, log
        self.compiler = folder.parent / "compiler.py"
        self.options: list[str] = []
        folder.mkdir()
        for name in ("one", "two"):
            (folder / name).write_text(f"{name} ")
        self.compiler.write_text(COMPILER.format(log=str(log)))

    def build(self) -> str:
        """What is made of the sources."""
        command = [sys.executable, str(self.compiler), "one", "two", *self.options]
        prepare(self.folder, [command], ["one", "two"], "made", [str(self.compiler)])
        return (self.folder / "made" / "program").read_text()

    def count(self) -> int:
        """How often the compiler has run."""
        return self.log.read_text().count("built")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project", tmp_path / "log")


def test_the_same_is_built_once_for_all_clones(project: Project, tmp_path: Path) -> None:
    assert [project.build(), project.build()] == ["one two ", "one two "]
    clone = tmp_path / "clone"
    clone.mkdir()
    other = Project(clone / "project", project.log)
    other.compiler = project.compiler
    assert other.build() == "one two "
    assert project.count() == 1


def change_a_source(project: Project) -> None:
    (project.folder / "two").write_text("changed ")


def swap_the_sources(project: Project) -> None:
    (project.folder / "one").write_text("two ")
    (project.folder / "two").write_text("one ")


def change_the_compiler(project: Project) -> None:
    project.compiler.write_text(project.compiler.read_text() + "\n")


def change_the_command(project: Project) -> None:
    project.options.append("one")


CHANGES = [change_a_source, swap_the_sources, change_the_compiler, change_the_command]


@pytest.mark.parametrize("change", CHANGES)
def test_what_has_changed_is_built_anew(project: Project, change: Callable[[Project], None]) -> None:
    before = project.build()
    change(project)
    after = project.build()
    assert project.count() == 2
    assert (after == before) is (change is change_the_compiler)


def test_what_is_as_it_was_before_a_change_is_there_still(project: Project) -> None:
    project.build()
    change_a_source(project)
    project.build()
    (project.folder / "two").write_text("two ")
    assert project.build() == "one two "
    assert project.count() == 2


def test_what_was_built_in_the_folder_before_is_replaced(project: Project) -> None:
    (project.folder / "made").mkdir()
    (project.folder / "made" / "program").write_text("of an earlier version")
    assert project.build() == "one two "


def test_a_build_that_was_broken_off_is_built_again(project: Project, kept: Path) -> None:
    project.build()
    (done,) = kept.glob(f"*/{DONE}")
    done.unlink()
    assert project.build() == "one two "
    assert project.count() == 2


def test_a_build_that_fails_is_tried_twice_and_not_kept(project: Project, kept: Path) -> None:
    project.options.append("missing")
    with pytest.raises(AssertionError, match="No such file or directory: 'missing'"):
        project.build()
    assert not list(kept.glob(f"*/{DONE}"))
    assert not (project.folder / "made").exists()


def test_two_that_ask_at_the_same_time_build_once() -> None:
    builds: list[Path] = []

    def build(place: Path) -> None:
        builds.append(place)
        if len(builds) == 1:
            other.start()

    def ask() -> None:
        found.append(kept_build("a", [b"x"], build))

    found: list[Path] = []
    other = threading.Thread(target=ask)
    ask()
    other.join()
    assert builds == found[:1] == found[1:]


def test_former_builds_of_a_name_are_dropped_the_longest_unused_first(kept: Path) -> None:
    folders = [kept_build("a", [bytes([number])], lambda _: None) for number in range(FORMER_BUILDS_MAX + 1)]
    other = kept_build("a-b", [b"other"], lambda _: None)
    for number, folder in enumerate([*folders, other]):
        os.utime(folder / DONE, (number, number))
    kept_build("a", [bytes([0])], lambda _: None)
    newest = kept_build("a", [b"newest"], lambda _: None)
    left = {one.parent for one in kept.glob(f"*/{DONE}")}
    assert left == {folders[0], *folders[2:], newest, other}


def test_ingredients_differ_by_their_ends() -> None:
    assert digest_of([b"ab", b"c"]) != digest_of([b"a", b"bc"]) != digest_of([b"abc"])


def test_a_program_is_known_by_its_content_behind_links(tmp_path: Path) -> None:
    program, link = tmp_path / "program", tmp_path / "link"
    program.write_text("1")
    link.symlink_to(program)
    before = identity_of(str(link))
    assert before == identity_of(str(program))
    program.write_text("12")
    assert identity_of(str(link)) != before


def test_a_link_is_moved(tmp_path: Path) -> None:
    for name in ("first", "second", "second"):
        (tmp_path / name).mkdir(exist_ok=True)
        show_in(tmp_path, "shown", tmp_path / name)
        assert (tmp_path / "shown").resolve() == tmp_path / name
