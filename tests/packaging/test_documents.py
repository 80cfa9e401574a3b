"""The documents are right: the README's example runs, links have targets, refused members are listed."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from hashrange.messages.installing import EXTRA, WHERE, how_to_install
from hashrange.operations.registry import OPERATIONS
from hashrange.operations.tables import create_table, update_table
from tests.support.servers import ThreadServer
from tests.support.stores import make_store

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def test_the_example_of_the_readme_runs() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    server = ThreadServer(make_store, OPERATIONS)
    try:
        code = example.replace("http://localhost:8000", server.endpoint)
        done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=False, timeout=60)
    finally:
        server.stop()
    assert done.stderr == ""
    assert "'visits': Decimal('2')" in done.stdout


def test_the_commands_of_the_documents_are_in_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for page in PAGES:
        named = set(re.findall(r"\bmake ([a-z]+)(?=[ `\n])", page.read_text(encoding="utf-8")))
        commands = {word for word in named if f"`make {word}" in page.read_text(encoding="utf-8")}
        assert commands <= targets, page.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (page.parent / target).exists(), target


def test_the_code_map_names_every_package() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for package in (ROOT / "src" / "hashrange").iterdir():
        if not package.name.startswith(("__", "py.typed")):
            assert f"`{package.name.removesuffix('.py')}`" in text


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "docs/glossary.md", "docs/invariants.md"])
def test_the_files_that_a_page_names_exist(page: str) -> None:
    """A file is named from the root of the repository or of the package, or with the end of its path."""
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"(?<![\w/.-])([\w/.-]+\.(?:py|md))(?![\w/])", text))
    assert named
    files = {
        path.relative_to(ROOT).as_posix()
        for folder in ("src/hashrange", "tests", "docs", "benchmarks", "torture")
        for path in (ROOT / folder).rglob("*.[pm][yd]")
    }
    files |= {path.name for path in ROOT.glob("*.md")}
    missing = {one for one in named if one not in files and not any(file.endswith(f"/{one}") for file in files)}
    assert not missing


@pytest.mark.parametrize(
    ("operation", "refused"), [("CreateTable", create_table.LATER_MEMBERS), ("UpdateTable", update_table.LATER_MEMBERS)]
)
def test_every_refused_member_is_listed(operation: str, refused: Sequence[str]) -> None:
    page = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| {operation} \| (`.*)$", page, re.MULTILINE)
    assert refused
    assert set(re.findall(r"`([A-Za-z.]+)`", row)) == set(refused)


CITATION = re.compile(r"(?<![\w/.-])([a-z][a-z0-9-]*\.md)(?!\d)(?: sections?)?(?: (\d[\d.]*)(?: and (\d[\d.]*))?)?")
"""The name of a page, and the numbers of one or two of its sections."""


def test_cited_sources_are_described() -> None:
    """A comment that cites `errors.md 3` refers to a section of docs/sources.md."""
    headings = re.findall(r"^#+ (.*)$", (ROOT / "docs" / "sources.md").read_text(encoding="utf-8"), re.MULTILINE)
    described = {heading.split(":")[0] for heading in headings}
    pages = {path.name for path in ROOT.glob("*.md")} | {path.name for path in ROOT.glob("docs/**/*.md")}
    cited = set()
    for path in [
        *ROOT.glob("src/**/*.py"),
        *(path for path in ROOT.glob("tests/**/*.py") if ".venv" not in path.parts),
    ]:
        text = " ".join(path.read_text(encoding="utf-8").split())
        for name, section, second in re.findall(CITATION, text):
            cited |= {f"{name} {one.rstrip('.')}" for one in (section, second) if one}
            if not section and name not in pages:
                cited.add(name)
    assert {"errors.md 3", "signing.md 2", "global-tables-backup.md 8", "observed-2026-11.md 5"} <= cited
    assert cited <= described, cited - described


def test_one_page_and_one_constant_say_how_extras_are_installed() -> None:
    """A release changes these two, and nothing else."""
    page = (ROOT / "docs" / "installing.md").read_text(encoding="utf-8")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for extra in extras:
        assert f"| `{EXTRA.format(extra=extra)}` |" in page
        assert EXTRA.format(extra=extra) in how_to_install(extra)
    assert WHERE in page
    others = [
        one
        for one in PAGES
        if one.name not in {"installing.md", "commands.md", "CHANGELOG.md"} and "adr" not in one.parts
    ]
    examples = [one for one in ROOT.glob("docs/examples/**/*.*") if "__pycache__" not in one.parts]
    sources = [*ROOT.glob("src/**/*.py"), *examples]
    for file in [*others, *sources]:
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"hashrange\[|pip install '?\"?hashrange", text), file
        is_first_screen = file.name == "README.md" and file.parent == ROOT
        assert is_first_screen or file.name == "installing.py" or 'install ".[' not in text, file
