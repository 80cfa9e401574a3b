"""Names of files for keys of S3: readable for ordinary keys, one for each key, and none that leads out."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashrange.s3.key_paths import names_of_key, part_of_name

HOSTILE = [
    "..",
    ".",
    "../../etc/passwd",
    "/etc/passwd",
    "a/../b",
    "a//b",
    "a/",
    "/",
    "c:\\x",
    "con",
    "NUL.txt",
    "com1",
    "trail.",
    "trail ",
    "line\nbreak",
    "nothing\0here",
    "%2E%2E",
    "a%file",
    "a%json",
    "%",
    "x" * 1024,
    "é" * 512,
    "\U0001f600" * 256,
    "\x01" * 1024,
    "/" * 1024,
]


@pytest.mark.parametrize("is_folding", [False, True])
@pytest.mark.parametrize("key", ["AWSDynamoDB/01693685827463-2d8752fd/data/abc.json.gz", "photos/2026/cat 1.jpg"])
def test_an_ordinary_key_is_its_own_path(key: str, *, is_folding: bool) -> None:
    path = "/".join(names_of_key(key, is_folding))
    assert path == (key.replace("AWSDynamoDB", "AWSDynamoDB%c60f") if is_folding else key)


def test_capitals_are_told_apart_where_the_file_system_does_not() -> None:
    assert names_of_key("aB/Ab/ab", is_folding=True) == ["aB%c2", "Ab%c1", "ab"]


@pytest.mark.parametrize("is_folding", [False, True])
@pytest.mark.parametrize("key", HOSTILE)
def test_no_name_leads_out_of_a_folder_or_is_too_long(key: str, *, is_folding: bool) -> None:
    for name in names_of_key(key, is_folding):
        assert name not in {"", ".", ".."}
        assert not set(name) & set('/\\\0:*?"<>|\n')
        assert not name.endswith((".", " "))
        assert len((name + "%file").encode()) <= 250
        assert name.partition(".")[0].lower() not in {"con", "nul", "com1"}


keys = st.text(st.sampled_from("aAbB/.%+\\é\U0001f600 -~fcile2E\0") | st.characters(codec="utf-8"), max_size=400)


@settings(deadline=None)
@given(st.lists(keys, min_size=2, max_size=2, unique=True), st.booleans())
def test_each_key_has_a_path_of_its_own(two: list[str], is_folding: bool) -> None:
    first, second = ("/".join(names_of_key(key, is_folding)) for key in two)
    assert first != second
    if is_folding:
        assert first.lower() != second.lower()


@settings(deadline=None)
@given(keys, st.booleans())
def test_a_path_tells_its_key(key: str, is_folding: bool) -> None:
    read = ""
    for name in names_of_key(key, is_folding):
        part = part_of_name(name)
        assert part is not None
        assert not part.is_file_ending
        read += part.text + ("" if part.is_continued else "/")
    assert read == key + "/"


@pytest.mark.parametrize("name", ["a%", "a%zz", "%FF", "a%json", "%file", "\udcff", "100%"])
def test_a_name_that_no_key_has_is_none(name: str) -> None:
    assert part_of_name(name) is None
