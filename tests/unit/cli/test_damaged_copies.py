"""Whatever is damaged in a folder of copies is found and named, and never restored; what is sound can be restored."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import msgspec
import pytest

from hashrange.cli.main import DONE, FAILED, WRONG_USE, main
from hashrange.store.repository.manifests import VERSION, encode_manifest
from tests.support.copied_stores import Shop, content_of, copies_in, file_names, needed_names, opened_shop, restored

Printed = pytest.CaptureFixture[str]
Files = dict[str, bytes]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Shop]]:
    """A repository with three copies, and the server whose they are."""
    root = tmp_path_factory.mktemp("kept")
    with opened_shop(root / "data") as shop:
        shop.make("orders")
        for number in range(3):
            shop.put("orders", str(number), f"{number}" * 3000)
            assert main(["backup", shop.endpoint, str(root / "copies")]) == DONE
        yield root / "copies", shop


@pytest.fixture
def target(kept: tuple[Path, Shop], tmp_path: Path) -> Path:
    """A repository of its own for each test."""
    shutil.copytree(kept[0], tmp_path / "copies")
    return tmp_path / "copies"


@pytest.fixture
def shop(kept: tuple[Path, Shop]) -> Shop:
    return kept[1]


def files_in(folder: Path) -> Files:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


DAMAGE: dict[str, Callable[[bytes], bytes | None]] = {
    "flipped": flipped,
    "cut": lambda content: content[:-1],
    "longer": lambda content: content + b"\0",
    "empty": lambda _: b"",
    "removed": lambda _: None,
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_of_any_file_is_found_and_never_restored(
    target: Path, tmp_path: Path, kind: str, capsys: Printed
) -> None:
    pristine: dict[str, Files] = {}
    for name in copies_in(target):
        assert main(["restore", str(target), str(tmp_path / name), "--copy", name, "--no-check"]) == DONE
        pristine[name] = files_in(tmp_path / name)
    needs = {name: {f"files/{one.sha256}" for one in manifest.files} for name, manifest in copies_in(target).items()}
    for file in sorted(needed_names(target)):
        content = (target / file).read_bytes()
        changed = DAMAGE[kind](content) if content or kind != "flipped" else content
        if changed == content:
            continue
        (target / file).unlink() if changed is None else (target / file).write_bytes(changed)
        capsys.readouterr()
        is_manifest = file.startswith("manifests/")
        is_gone = is_manifest and changed is None
        assert main(["check", str(target)]) == (DONE if is_gone else FAILED), file
        told = capsys.readouterr().out
        assert is_gone or file in told
        for name, files in pristine.items():
            is_hit = file in needs[name] or file == f"manifests/{name}.json"
            place = tmp_path / "restored"
            code = main(["restore", str(target), str(place), "--copy", name, "--no-check"])
            error = capsys.readouterr().err
            if is_hit:
                assert code != DONE, file
                assert name in error
                assert is_gone or name in told
                assert not place.exists()
            else:
                assert code == DONE, error
                assert files_in(place) == files
                shutil.rmtree(place)
        (target / file).write_bytes(content)
    assert main(["check", str(target)]) == DONE


def test_a_damaged_newest_copy_is_not_passed_over(target: Path, tmp_path: Path, capsys: Printed) -> None:
    *others, newest = copies_in(target)
    (target / "manifests" / f"{newest}.json").write_bytes(b"{}\n")
    assert main(["restore", str(target), str(tmp_path / "restored")]) == FAILED
    told = (
        f"hashrange: the manifest of the copy {newest} is damaged: it is not as it was written, or cut."
        f" Other copies: {', '.join(others)}.\n"
    )
    assert capsys.readouterr().err == told
    assert main(["restore", str(target), "--list"]) == FAILED
    listed = capsys.readouterr()
    assert len(listed.out.splitlines()) == len(others) + 1
    assert newest in listed.err


def test_beside_a_damaged_manifest_nothing_is_removed(
    shop: Shop, target: Path, tmp_path: Path, capsys: Printed
) -> None:
    """It might be needed: whoever puts it back has its copy again."""
    first, *others = copies_in(target)
    manifest = target / "manifests" / f"{first}.json"
    content, before = manifest.read_bytes(), file_names(target)
    manifest.write_bytes(flipped(content))
    assert main(["backup", shop.endpoint, str(target), "--keep", "1"]) == FAILED
    assert f"manifests in {target} are damaged: {first}. Nothing is removed" in capsys.readouterr().err
    assert before < file_names(target)
    assert restored(target, tmp_path / "restored") == shop.content
    manifest.write_bytes(content)
    assert main(["check", str(target)]) == DONE
    assert main(["backup", shop.endpoint, str(target), "--keep", "2"]) == DONE
    assert len(copies_in(target)) == 2
    assert not {first, *others} & set(copies_in(target))
    assert file_names(target) == needed_names(target)


def test_without_any_manifest_nothing_is_removed(shop: Shop, target: Path, tmp_path: Path, capsys: Printed) -> None:
    """Somebody has moved the manifests away; with them, all copies are there again."""
    names, before = list(copies_in(target)), file_names(target)
    (target / "manifests").rename(tmp_path / "away")
    assert main(["restore", str(target), str(tmp_path / "restored")]) != DONE
    assert main(["backup", shop.endpoint, str(target)]) == FAILED
    assert f"{target} has files of copies, and no manifest that names them." in capsys.readouterr().err
    (target / "manifests").rmdir()
    (tmp_path / "away").rename(target / "manifests")
    assert file_names(target) == before
    assert main(["check", str(target)]) == DONE
    assert list(copies_in(target)) == names


def test_a_copy_whose_manifest_somebody_deletes_is_removed(shop: Shop, target: Path) -> None:
    first, *others = copies_in(target)
    (target / "manifests" / f"{first}.json").unlink()
    assert main(["backup", shop.endpoint, str(target)]) == DONE
    assert list(copies_in(target))[: len(others)] == others
    assert file_names(target) == needed_names(target)


def test_a_folder_that_is_no_repository_any_more_is_left_alone(shop: Shop, target: Path, capsys: Printed) -> None:
    before = file_names(target)
    (target / "hashrange-repository").unlink()
    for words in (["restore", str(target), "--list"], ["check", str(target)], ["backup", shop.endpoint, str(target)]):
        assert main(words) == WRONG_USE
        assert str(target) in capsys.readouterr().err
    assert file_names(target) == before
    (target / "hashrange-repository").touch()
    assert main(["check", str(target)]) == DONE


def test_a_newer_manifest_is_refused(shop: Shop, target: Path, tmp_path: Path, capsys: Printed) -> None:
    *others, newest = copies_in(target).values()
    newer = msgspec.structs.replace(newest, version=VERSION + 1)
    (target / "manifests" / f"{newest.name}.json").write_bytes(encode_manifest(newer))
    before = file_names(target)
    assert main(["backup", shop.endpoint, str(target), "--keep", "1"]) == FAILED
    told = f"hashrange: {target} was written by a newer Hashrange: it has version 2, and this Hashrange reads version 1"
    assert capsys.readouterr().err.startswith(told)
    assert file_names(target) == before
    assert main(["restore", str(target), str(tmp_path / "restored")]) == FAILED
    assert f"the copy {newest.name} was made by a newer Hashrange" in capsys.readouterr().err
    assert main(["restore", str(target), str(tmp_path / "restored"), "--copy", others[0].name]) == DONE


def test_a_copy_of_a_newer_store_is_refused(target: Path, tmp_path: Path, capsys: Printed) -> None:
    *_, newest = copies_in(target).values()
    newer = msgspec.structs.replace(newest, store_format=1000)
    (target / "manifests" / f"{newest.name}.json").write_bytes(encode_manifest(newer))
    assert main(["restore", str(target), str(tmp_path / "restored"), "--no-check"]) == FAILED
    assert f"the copy {newest.name} is of a newer Hashrange: its format is 1000" in capsys.readouterr().err
    assert not (tmp_path / "restored").exists()


@pytest.mark.parametrize("name", ["../evil", "engine/../../evil", "/evil", "engine/a/b", ".evil", "a\nb", ""])
def test_names_lead_nowhere_else(target: Path, tmp_path: Path, name: str, capsys: Printed) -> None:
    *_, newest = copies_in(target).values()
    evil = msgspec.structs.replace(newest.files[0], name=name)
    changed = msgspec.structs.replace(newest, files=[*newest.files, evil])
    (target / "manifests" / f"{newest.name}.json").write_bytes(encode_manifest(changed))
    assert main(["restore", str(target), str(tmp_path / "deep" / "restored"), "--no-check"]) == FAILED
    assert "is damaged: it is no manifest of Hashrange" in capsys.readouterr().err
    assert not list(tmp_path.rglob("evil"))


def test_a_damaged_file_is_written_again_by_the_next_backup(tmp_path: Path, capsys: Printed) -> None:
    """No server has the folder, so that no file is replaced by another before the next backup needs it."""
    source, target = str(tmp_path / "data"), tmp_path / "copies"
    with opened_shop(tmp_path / "data") as shop:
        shop.make("orders")
        for number in range(3):
            shop.put("orders", str(number), f"{number}" * 3000)
        assert main(["backup", shop.endpoint, str(tmp_path / "other")]) == DONE  # writes rows to a data file
    assert main(["backup", source, str(target)]) == DONE
    (newest,) = copies_in(target).values()
    digest = next(one.sha256 for one in newest.files if one.fingerprint)
    path = target / "files" / digest
    path.write_bytes(flipped(path.read_bytes()))
    assert main(["check", str(target)]) == FAILED
    capsys.readouterr()
    assert main(["backup", source, str(target)]) == DONE
    assert f"{target}: files/{digest} was damaged, and is written again.\n" in capsys.readouterr().out
    assert main(["check", str(target)]) == DONE
    path.unlink()
    assert main(["backup", source, str(target), "--no-check"]) == DONE
    assert f"{target}: files/{digest} was damaged, and is written again.\n" in capsys.readouterr().out
    assert main(["check", str(target)]) == DONE
    assert restored(target, tmp_path / "restored") == shop.content


def test_no_copy_of_a_damaged_folder_is_kept(target: Path, tmp_path: Path, capsys: Printed) -> None:
    before = file_names(target)
    place = tmp_path / "damaged"
    with opened_shop(place) as shop:
        shop.make("orders")
        for number in range(10):
            shop.put("orders", str(number), Random(number).randbytes(30_000).hex())
        assert main(["backup", shop.endpoint, str(tmp_path / "other")]) == DONE  # writes rows to a data file
    largest = max((place / "engine").glob("*.sst"), key=lambda path: path.stat().st_size)
    largest.write_bytes(flipped(largest.read_bytes()))
    capsys.readouterr()
    assert main(["backup", str(place), str(target)]) == FAILED
    told = capsys.readouterr().err
    assert told.startswith(f"hashrange: {place} is damaged, and no copy of it was kept: ")
    assert "unfinished" not in told
    assert file_names(target) == before
    assert main(["backup", str(place), str(target), "--no-check"]) == DONE
    assert main(["restore", str(target), str(tmp_path / "restored")]) == FAILED
    told = capsys.readouterr().err
    assert "is damaged, and nothing was restored: " in told
    assert "restoring" not in told
    assert not (tmp_path / "restored").exists()
    assert main(["restore", str(target), str(tmp_path / "restored"), "--no-check"]) == DONE


def test_a_restore_that_fails_leaves_the_folder_as_it_was(target: Path, tmp_path: Path) -> None:
    *_, newest = copies_in(target).values()
    os.remove(target / "files" / newest.files[-1].sha256)
    place = tmp_path / "place"
    place.mkdir()
    assert main(["restore", str(target), str(place)]) == FAILED
    assert [path.name for path in place.iterdir()] == ["lock"]
    first = next(iter(copies_in(target)))
    assert main(["restore", str(target), str(place), "--copy", first]) in {DONE, FAILED}


def test_the_content_of_every_copy_is_its_own(target: Path, tmp_path: Path) -> None:
    for number, name in enumerate(copies_in(target), start=1):
        assert main(["restore", str(target), str(tmp_path / name), "--copy", name]) == DONE
        assert set(content_of(tmp_path / name)["orders"]) == {str(key) for key in range(number)}
