"""What `hashrange toolkit export` writes is right: each command line and each program in these files runs in their
folder, against a started server, and the schema document keeps what it says.

A script whose command does not exist yet must say so.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from hashrange.cli.main import DONE, WRONG_USE, main
from hashrange.settings import Settings
from hashrange.testing import server
from tests.clients.programs import program
from tests.docs.pages import examples_of
from tests.unit.testing.suites import SOURCE

SCRIPTS = ("capacity-calculator.sh", "scan-table.sh", "table-design.sh")
HEADER_COMMAND = re.compile(r"^#   (\S.*)$", re.MULTILINE)
TABLE_TEMPLATE = "assets/cloudformation-table.yaml"


class Folder:
    """The exported files, and a server of their own."""

    def __init__(self, path: Path, endpoint: str) -> None:
        self.path, self.endpoint = path, endpoint
        self.programs = path.parent / "programs"
        self.programs.mkdir()
        hashrange = self.programs / "hashrange"
        hashrange.write_text(
            f'#!/bin/sh\nexec {shlex.join([sys.executable, "-m", "hashrange"])} "$@"\n', encoding="utf-8"
        )
        hashrange.chmod(0o755)
        keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "region_name": "us-east-1"}
        self.client = boto3.client("dynamodb", endpoint_url=endpoint, **keys)

    def run(self, line: str, place: str = ".") -> "subprocess.CompletedProcess[str]":
        """Run a command line in a folder below the exported one."""
        variables = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        return subprocess.run(
            [program("sh"), "-c", line],
            cwd=self.path / place,
            env=variables
            | {
                "PATH": os.pathsep.join([str(self.programs), os.environ["PATH"]]),
                "PYTHONPATH": str(SOURCE),
                "AWS_ENDPOINT_URL": self.endpoint,
            },
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    def require(self, line: str, place: str = ".") -> None:
        """Run a command line, which must succeed, or name the command that does not exist yet."""
        done = self.run(line, place)
        assert done.returncode == DONE, f"{line}\n{done.stdout}{done.stderr}"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    path = tmp_path / "kit"
    assert main(["toolkit", "export", str(path)]) == DONE
    with server(Settings(data_dir=None, port=0)) as database:
        made = Folder(path, database.endpoint)
        yield made
        made.client.close()


def command_lines(text: str) -> list[str]:
    """The lines of a block, joined where they go on. The server is there already."""
    lines = text.replace("\\\n", " ").splitlines()
    return [line for line in lines if not line.startswith("hashrange serve ")]


@pytest.mark.parametrize(
    "page",
    ["SKILL.md", "references/advanced-patterns.md", "references/api-reference.md", "references/troubleshooting.md"],
)
def test_the_examples_of_a_page_run(folder: Folder, page: str) -> None:
    examples = examples_of((folder.path / page).read_text(encoding="utf-8"))
    assert {one.language for one in examples} <= {"sh", "python"}
    names = {"dynamodb": folder.client}
    for example in examples:
        if example.language == "sh":
            for line in command_lines(example.text):
                folder.require(line, str(Path(page).parent))
        else:
            exec(compile(example.text, page, "exec"), names)


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_examples_in_a_script_run(folder: Folder, script: str) -> None:
    lines = HEADER_COMMAND.findall((folder.path / "scripts" / script).read_text(encoding="utf-8"))
    assert lines
    if script == "scan-table.sh":
        make_orders(folder.client)
    for line in lines:
        folder.require(line)


def make_orders(client: Any) -> None:
    """The table that the examples of a script read."""
    client.create_table(
        TableName="Orders",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    client.put_item(TableName="Orders", Item={"id": {"S": "1"}, "status": {"S": "active"}, "total": {"N": "11"}})


def test_the_example_in_the_template_runs(folder: Folder) -> None:
    [line, other] = HEADER_COMMAND.findall((folder.path / TABLE_TEMPLATE).read_text(encoding="utf-8"))
    folder.require(line.replace("table.yaml", TABLE_TEMPLATE))
    assert other.startswith("aws cloudformation deploy --template-file table.yaml ")


def test_a_script_works_from_the_day_on_which_its_command_exists(folder: Folder) -> None:
    newer = 'case "$*" in "capacity --help") ;; *) printf "<%s>" "$@" ;; esac'
    (folder.programs / "hashrange").write_text(f"#!/bin/sh\n{newer}\n", encoding="utf-8")
    assert folder.run("sh scripts/capacity-calculator.sh --reads '1 2'").stdout == "<capacity><--reads><1 2>"


def test_a_script_without_hashrange_says_so(folder: Folder) -> None:
    (folder.programs / "hashrange").unlink()
    for script in SCRIPTS:
        done = folder.run(f"PATH={folder.programs}; . scripts/{script}")
        assert (done.returncode, done.stdout) == (WRONG_USE, "")
        assert done.stderr == f"{script}: there is no hashrange here. Install it, with its extra toolkit.\n"


# --- the schema document ------------------------------------------------------------------------------


def test_the_schema_does_what_it_says(folder: Folder) -> None:
    """`hashrange model` finds nothing to tell of it, also not of its figures (tests/unit/toolkit/models)."""
    done = folder.run("hashrange model assets/single-table-schema.json --output json")
    assert (done.returncode, done.stderr) == (DONE, "")
    told = json.loads(done.stdout)
    document = json.loads((folder.path / "assets" / "single-table-schema.json").read_text(encoding="utf-8"))
    assert (len(document["entities"]), len(told["accessPatterns"])) == (8, 14)
    assert all(one["items"] == one["expected"] > 0 for one in told["accessPatterns"])
    assert folder.client.list_tables()["TableNames"] == []
