"""`hashrange toolkit export`: which files are written, and what happens to those that are there?"""

import os
import stat
from pathlib import Path

import pytest

from hashrange.cli.main import DONE, INTERRUPTED, WRONG_USE, main

Printed = pytest.CaptureFixture[str]
PATHS = [
    "SKILL.md",
    "assets/cloudformation-table.yaml",
    "assets/single-table-schema.json",
    "assets/single-table-schema.schema.json",
    "references/advanced-patterns.md",
    "references/api-reference.md",
    "references/troubleshooting.md",
    "scripts/capacity-calculator.sh",
    "scripts/scan-table.sh",
    "scripts/table-design.sh",
]


def paths_below(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())


def exported(folder: Path, *flags: str) -> int:
    return main(["toolkit", "export", str(folder), *flags])


def test_the_files_are_written_into_a_new_folder(tmp_path: Path, capsys: Printed) -> None:
    folder = tmp_path / "new" / "kit"
    assert exported(folder) == DONE
    assert capsys.readouterr() == ("", f"10 files of the toolkit are in {folder}. Begin with SKILL.md.\n")
    assert paths_below(folder) == PATHS
    main(["design", "--template"])
    assert (folder / "assets" / "cloudformation-table.yaml").read_text(encoding="utf-8") == capsys.readouterr().out


@pytest.mark.skipif(os.name == "nt", reason="files have no executable bit there")
def test_scripts_can_be_executed_and_nothing_else(tmp_path: Path) -> None:
    exported(tmp_path)
    runnable = [path for path in PATHS if (tmp_path / path).stat().st_mode & stat.S_IXUSR]
    assert runnable == [path for path in PATHS if path.startswith("scripts/")]


def test_a_folder_that_is_not_empty_is_refused(tmp_path: Path, capsys: Printed) -> None:
    (tmp_path / "notes").write_text("mine", encoding="utf-8")
    assert exported(tmp_path) == WRONG_USE
    assert capsys.readouterr().err.startswith(f"hashrange: the folder {tmp_path} is not empty. Name another one, or")
    assert paths_below(tmp_path) == ["notes"]


def test_force_overwrites_files_of_the_toolkit_only(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    for name in ("scripts/mine.sh", "SKILL.md"):
        (tmp_path / name).write_text("mine", encoding="utf-8")
    assert exported(tmp_path, "--force") == DONE
    assert paths_below(tmp_path) == sorted([*PATHS, "scripts/mine.sh"])
    assert (tmp_path / "scripts" / "mine.sh").read_text(encoding="utf-8") == "mine"
    assert (tmp_path / "SKILL.md").read_text(encoding="utf-8") != "mine"


def test_what_stands_in_the_way_is_named_and_nothing_is_left(tmp_path: Path, capsys: Printed) -> None:
    (tmp_path / "scripts").write_text("mine", encoding="utf-8")
    assert exported(tmp_path, "--force") == WRONG_USE
    assert str(tmp_path / "scripts") in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["scripts"]

    (tmp_path / "file").write_text("mine", encoding="utf-8")
    assert exported(tmp_path / "file") == WRONG_USE
    assert exported(tmp_path / "file" / "below") == WRONG_USE
    assert "Name another folder." in capsys.readouterr().err

    folder = tmp_path / "folder"
    (folder / "SKILL.md").mkdir(parents=True)
    assert exported(folder, "--force") == WRONG_USE
    assert str(folder / "SKILL.md") in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["SKILL.md"]


@pytest.mark.parametrize("calls", [1, 4, 9])
def test_an_interrupt_leaves_nothing(calls: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes after this many files have been put in their places."""
    replace, seen = os.replace, list[str]()

    def interrupted(source: str, place: str) -> None:
        replace(source, place)
        seen.append(place)
        if len(seen) == calls:
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    assert exported(tmp_path / "new" / "kit") == INTERRUPTED
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "`hashrange toolkit` needs export and DIR; `hashrange toolkit --help` tells more."),
        (["import", "a"], "`hashrange toolkit` does not know import; say hashrange toolkit export DIR."),
        (["export", ""], "the name of the folder is empty. Name one, such as ./dynamodb-toolkit."),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(words: list[str], sentence: str, capsys: Printed) -> None:
    assert main(["toolkit", *words]) == WRONG_USE
    assert capsys.readouterr().err == f"hashrange: {sentence}\n"
