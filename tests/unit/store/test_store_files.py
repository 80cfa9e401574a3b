"""Which files of a data folder hold its content, and when are two the same? By name, length and fingerprint."""

from pathlib import Path
from random import Random

from hashrange.store.embedded import files
from hashrange.store.embedded.engine import close_engine, link_engine, open_engine
from hashrange.store.embedded.store_files import FINGERPRINTED_BYTES, ListedFiles, link_content, list_files

ROWS, ROW_BYTES = 40, 4_000
"""More than the part of a file that the fingerprint covers."""


def linked(root: Path, name: str) -> list[Path]:
    """Two data folders with links to the files of a new engine, which has the same rows each time."""
    data_dir = root / name
    (data_dir / files.ENGINE_FOLDER).mkdir(parents=True)
    engine = open_engine(str(data_dir))
    for number in range(ROWS):
        engine.put(b"row %04d" % number, Random(number).randbytes(ROW_BYTES))
    engine.flush()
    copies = [root / f"{name}-{number}" for number in range(2)]
    for copy in copies:
        copy.mkdir()
        link_engine(engine, str(copy / files.ENGINE_FOLDER))
    close_engine(engine, str(data_dir), may_fail=False)
    return copies


def data_files(data_dir: Path) -> dict[str, tuple[int, str]]:
    """Name → length and fingerprint of the files that have one."""
    return {one.name: one[1:] for one in list_files(str(data_dir)) if one.fingerprint}


def test_two_data_files_have_different_fingerprints_even_with_the_same_rows(tmp_path: Path) -> None:
    """As those that a database has before and after it went back to an older copy: numbers and lengths repeat."""
    first, again = linked(tmp_path, "first")
    other, _ = linked(tmp_path, "other")
    found = data_files(first)
    assert found == data_files(again)
    assert found.keys() == data_files(other).keys()
    for name, (_, fingerprint) in data_files(other).items():
        assert fingerprint != found[name][1]
        assert (other / name).stat().st_size > FINGERPRINTED_BYTES


def test_links_have_the_same_files_and_are_not_changed_by_an_engine(tmp_path: Path) -> None:
    first, _ = linked(tmp_path, "first")
    (first / "engine" / "LOG").write_text("none of the content")
    place = tmp_path / "linked"
    place.mkdir()
    link_content(str(first), str(place))
    listed = ListedFiles(str(place))
    assert listed.files == list_files(str(first))
    assert "engine/LOG" not in {one.name for one in listed.files}
    before = {one.name: listed.read(one.name, 0, one.size_bytes) for one in listed.files}
    engine = open_engine(str(first))
    engine.delete(b"row 0001")
    engine.flush()
    engine.compact_range(None, None)
    close_engine(engine, str(first), may_fail=False)
    assert {one.name: listed.read(one.name, 0, one.size_bytes) for one in listed.files} == before
    assert listed.files == list_files(str(place))
    assert listed.read("engine/LOG", 0, 1) is None
