"""The examples of the pages on functions, archive, vectors, DAX and auto scaling, and of docs/examples, end in what the
pages say, run as a reader runs them.

Their programs are files beside the servers that their commands start.
One program of each page is run again, as readers do.
"""

import re
import zipfile
from pathlib import Path

import pytest

from tests.clients.programs import aws_cli, python
from tests.docs.pages import NOT_RUN, ROOT, RUN, Example, examples_of
from tests.docs.runs import LOG, Commands
from tests.support.waiting import wait_until

PAGES = (
    "docs/functions.md",
    "docs/archive.md",
    "docs/vectors.md",
    "docs/dax.md",
    "docs/autoscaling.md",
    "docs/examples/README.md",
)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
AWS_CLI = ROOT / "tests" / "clients" / "aws_cli"
DAX_CLIENT = ROOT / "tests" / "clients" / "dax" / "python"


def examples(page: str) -> list[Example]:
    return examples_of((ROOT / page).read_text(encoding="utf-8"))


def said_by(commands: Commands, page: str) -> list[str]:
    """What the blocks of a page's commands print, without those that print nothing,
    such as those that start a server.
    """
    return [said for one in examples(page) if one.language == "sh" and (said := commands.run(one.text))]


@pytest.mark.parametrize("page", PAGES)
def test_every_example_is_run_or_known_not_to_be(page: str) -> None:
    for one in examples(page):
        assert one.language in RUN | NOT_RUN.keys()
        is_run = one.language not in {"python", "toml"} or not one.file.startswith("test_line_")
        assert is_run, "a program is a file that commands run"


def test_functions(tmp_path: Path) -> None:
    with Commands(examples("docs/functions.md"), tmp_path) as commands:
        said = [*said_by(commands, "docs/functions.md"), commands.run("python place_order.py")]
        log, lines = tmp_path / LOG, []
        assert len(said) == 2
        for one in said:
            order = re.fullmatch(r"\{'id': '(order-\d+)', 'status': 'confirmed'\}\n", one)
            assert order, one
            line = re.compile(rf" INFO hashrange\.functions: confirm [\w-]{{36}} confirmed {order[1]}\n")
            lines.append(line)
        lines.append(re.compile(r" INFO hashrange\.functions: count [\w-]{36} \d records\n"))
        wait_until(lambda: all(line.search(log.read_text()) for line in lines))


def test_archive(tmp_path: Path) -> None:
    """Its commands print what the page says, except for the times; the zip has what Lambda needs."""
    page = (ROOT / "docs" / "archive.md").read_text(encoding="utf-8")
    printed = [one.text for one in examples_of(page) if one.language == "text"]
    with Commands(examples("docs/archive.md"), tmp_path) as commands:
        *said, written = said_by(commands, "docs/archive.md")
        again = commands.run("hashrange unarchive archive sessions")
        assert commands.run("python sessions.py") == said[0]
    assert [TIME.sub("", one) for one in said] == [TIME.sub("", one) for one in printed]
    assert "1 object written: " in written
    assert re.search(r"^identical  archive/Session/ada/1\.json ", again, re.MULTILINE)
    with zipfile.ZipFile(tmp_path / "archive.zip") as zipped:
        files = {name for name in zipped.namelist() if not name.endswith("/")}
    assert files == {f"hashrange/archive/{name}.py" for name in ("__init__", "objects", "trigger")}


def test_vectors(tmp_path: Path) -> None:
    page = examples("docs/vectors.md")
    with Commands(page, tmp_path) as commands:
        (said,) = said_by(commands, "docs/vectors.md")
        assert commands.run("python find_documents.py") == said
    assert [said] == [one.text for one in page if one.language == "text"]


@pytest.mark.packaging  # the DAX client and the AWS CLI are fetched
def test_dax(tmp_path: Path) -> None:
    with Commands(examples("docs/dax.md"), tmp_path, python(DAX_CLIENT)) as commands:
        commands.add_program("aws", aws_cli(AWS_CLI))
        read, clusters = said_by(commands, "docs/dax.md")
        again = commands.run("python cached_order.py")
    item = "{'id': {'S': '1'}, 'total': {'N': '12.5'}} for 0.0 units: it came from the cache\n"
    assert again == item
    assert read.startswith(f"{item}default, node default-a, port ")
    assert " hits, 0 misses" in read
    assert re.fullmatch(r'"dax://127\.0\.0\.1:\d+"', clusters.splitlines()[-1])


def test_auto_scaling(tmp_path: Path) -> None:
    with Commands(examples("docs/autoscaling.md"), tmp_path) as commands:
        (said,) = said_by(commands, "docs/autoscaling.md")
        again = commands.run("python scale_orders.py")
    units = [
        int(one)
        for one in re.findall(r"^\d\d:\d\d Successful: Setting write capacity units to (\d+)\.$", said, re.MULTILINE)
    ]
    assert max(units) > 10
    assert units[-1] == 5
    assert again.startswith(said)


@pytest.mark.packaging  # the AWS CLI is fetched
def test_followers_of_a_stream(tmp_path: Path) -> None:
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    with Commands(examples("docs/examples/README.md"), tmp_path) as commands:
        commands.add_program("aws", aws_cli(AWS_CLI))
        *_, said = said_by(commands, "docs/examples/README.md")
        again = commands.run("python docs/examples/order_totals.py --once")
    assert said.count("1 changes\n") == 3
    assert '"N": "12.5"' in said or '"N": "12.50"' in said
    assert again == "0 changes\n"
