"""The examples of the pages on testing, of docs/switching.md and docs/init.md, do what the pages say.

Each page's Python is run as a suite, with the library versions of this environment; pages with moto or aioboto3 in an
environment that has these. Each page's commands are run in a shell, against the servers that they start.
"""

import json
import tomllib
from pathlib import Path

import pytest

from hashrange.faults.fault import read_faults
from tests.docs.pages import NOT_RUN, PAGES, RUN, examples_of
from tests.docs.runs import run_commands, run_python

pytestmark = pytest.mark.packaging  # moto and aioboto3 are fetched


EXAMPLES = {page: examples_of(text) for page, text in PAGES.items()}


def pages_with(language: str) -> list[str]:
    return [page for page, examples in EXAMPLES.items() if language in {example.language for example in examples}]


def is_run_by_its_commands(page: str) -> bool:
    """True if commands of the page run pytest over its Python."""
    return any(example.language == "sh" and example.text.startswith("pytest ") for example in EXAMPLES[page])


def test_there_are_examples_of_each_kind() -> None:
    assert len(pages_with("python")) >= 5
    assert len(pages_with("sh")) >= 3


@pytest.mark.parametrize("page", PAGES)
def test_every_example_is_run_or_known_not_to_be(page: str) -> None:
    assert {example.language for example in EXAMPLES[page]} <= RUN | NOT_RUN.keys()


@pytest.mark.parametrize("page", [page for page in pages_with("python") if not is_run_by_its_commands(page)])
def test_python(page: str, tmp_path: Path) -> None:
    run_python(EXAMPLES[page], tmp_path)


@pytest.mark.parametrize("page", pages_with("sh"))
def test_commands(page: str, tmp_path: Path) -> None:
    run_commands(EXAMPLES[page], tmp_path)


def test_toml_and_json_can_be_read(tmp_path: Path) -> None:
    for page, examples in EXAMPLES.items():
        for example in examples:
            if example.language == "json":
                json.loads(example.text)
            elif example.language == "toml" and "fault" in tomllib.loads(example.text):
                path = tmp_path / f"{Path(page).stem}_{example.line}.toml"
                path.write_text(example.text, encoding="utf-8")
                read_faults(str(path))


@pytest.mark.parametrize("page", PAGES)
def test_pages_are_short(page: str) -> None:
    assert PAGES[page].count("\n") <= 150
