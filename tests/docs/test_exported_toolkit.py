"""What `hashrange toolkit export` writes is right: each command line and each program in these files runs in their
folder, against a started server, and the schema document keeps what it says.

A script whose command does not exist yet must say so.
"""

import json
import math
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from hashrange.cli.main import COMMANDS, DONE, WRONG_USE, main
from hashrange.settings import Settings
from hashrange.testing import server
from tests.clients.programs import program
from tests.docs.pages import examples_of
from tests.unit.testing.suites import SOURCE

COMMAND_OF = {"table-design.sh": "design", "capacity-calculator.sh": "capacity", "scan-table.sh": "scan"}
LATER = {"capacity"}
"""Commands that scripts need and that do not exist yet. One that exists is removed here, in SKILL.md and in
docs/toolkit.md.
"""
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
        script = re.match(r"sh scripts/(\S+)", line)
        command = COMMAND_OF[script[1]] if script else ""
        if command in LATER:
            assert done.returncode == WRONG_USE, line
            assert f"has no command {command}. Install a newer one." in done.stderr
            assert done.stderr.count("\n") == 1
        else:
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


@pytest.mark.parametrize("script", sorted(COMMAND_OF))
def test_the_examples_in_a_script_run(folder: Folder, script: str) -> None:
    lines = HEADER_COMMAND.findall((folder.path / "scripts" / script).read_text(encoding="utf-8"))
    assert lines
    if script == "scan-table.sh":
        make_orders(folder.client)
    for line in lines[: 1 if COMMAND_OF[script] in LATER else None]:
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
    for script in COMMAND_OF:
        done = folder.run(f"PATH={folder.programs}; . scripts/{script}")
        assert (done.returncode, done.stdout) == (WRONG_USE, "")
        assert done.stderr == f"{script}: there is no hashrange here. Install it, with its extra toolkit.\n"


def test_commands_that_are_missing_are_known() -> None:
    assert not LATER & COMMANDS.keys(), "take these out of LATER"


# --- the schema document ------------------------------------------------------------------------------

Document = dict[str, Any]
FIELD = re.compile(r"\{(\w+)\}")


@pytest.fixture
def document(folder: Folder) -> Document:
    read: Document = json.loads((folder.path / "assets" / "single-table-schema.json").read_text(encoding="utf-8"))
    return read


def filled(template: str, values: dict[str, Any]) -> str:
    return FIELD.sub(lambda found: str(values[found[1]]), template)


def item_of(document: Document, entity: Document, sample: Document) -> Document:
    """A sample with its keys, in the form of requests."""
    wanted = {name for name, one in entity["attributes"].items() if one["required"]}
    assert wanted <= sample.keys() <= entity["attributes"].keys()
    item = {name: {entity["attributes"][name]["type"]: str(value)} for name, value in sample.items()}
    keys = [entity["key"]] + [
        index for index in entity["indexes"].values() if set(FIELD.findall("".join(index.values()))) <= sample.keys()
    ]
    for each in keys:
        item |= {name: {"S": filled(template, sample)} for name, template in each.items()}
    return item | {document["entityTypeAttribute"]: {"S": entity["name"]}}


def answer_of(client: Any, document: Document, pattern: Document) -> list[Document]:
    """The items that an access pattern finds with its sample values."""
    table, values = document["table"]["TableName"], pattern["sample"]["values"]
    if pattern["operation"] == "GetItem":
        key = {name: {"S": filled(template, values)} for name, template in pattern["key"].items()}
        return [client.get_item(TableName=table, Key=key)["Item"]]
    prefix = pattern.get("index", "")
    condition, names = f"{prefix}PK = :p", {":p": {"S": filled(pattern["partitionKey"], values)}}
    sort = pattern.get("sortKey")
    if sort is not None:
        names |= {f":{place}": {"S": filled(one, values)} for place, one in enumerate(sort["values"])}
        condition += f" AND begins_with({prefix}SK, :0)" if sort["condition"] == "begins_with" else (
            f" AND {prefix}SK BETWEEN :0 AND :1"
        )  # fmt: skip
    index = {"IndexName": pattern["index"]} if "index" in pattern else {}
    found: list[Document] = client.query(
        TableName=table, KeyConditionExpression=condition, ExpressionAttributeValues=names,
        ScanIndexForward=not pattern["isNewestFirst"], **index,
    )["Items"]  # fmt: skip
    return found


def test_each_access_pattern_of_the_schema_finds_its_items(folder: Folder, document: Document) -> None:
    client, table = folder.client, document["table"]["TableName"]
    client.create_table(**document["table"])
    client.get_waiter("table_exists").wait(TableName=table, WaiterConfig={"Delay": 0})
    assert (len(document["entities"]), len(document["accessPatterns"])) == (8, 14)
    items = [item_of(document, entity, sample) for entity in document["entities"] for sample in entity["samples"]]
    assert len({(item["PK"]["S"], item["SK"]["S"]) for item in items}) == len(items), "two samples have one key"
    for item in items:
        client.put_item(TableName=table, Item=item)
    for pattern in document["accessPatterns"]:
        found = answer_of(client, document, pattern)
        assert len(found) == pattern["sample"]["itemCount"], pattern["name"]
        assert {item["entityType"]["S"] for item in found} == set(pattern["entities"]), pattern["name"]
        assert all(item.keys() >= set(pattern.get("attributes", [])) for item in found), pattern["name"]


def test_the_schema_estimates_what_its_figures_give(document: Document) -> None:
    entities = {one["name"]: one for one in document["entities"]}
    reads, writes = Counter[str](), Counter[str]()
    for pattern in document["accessPatterns"]:
        size = sum(entities[name]["itemBytes"] for name in pattern["entities"]) * pattern["itemsPerRequest"]
        reads[pattern.get("index", "")] += pattern["requestsPerSecond"] * math.ceil(size / 4096)
    for entity in entities.values():
        for place in ["", *entity["indexes"]]:
            writes[place] += entity["writesPerSecond"] * math.ceil(entity["itemBytes"] / 1024)
    capacity = document["capacity"]
    assert {"": capacity["table"], **capacity["indexes"]} == {
        place: {"readUnits": reads[place] / 2, "writeUnits": writes[place]} for place in writes
    }
    stored = sum(entity["itemCount"] * (entity["itemBytes"] + 100) for entity in entities.values())
    assert capacity["tableStorageBytes"] == stored
    expiring = {name for name, one in entities.items() if document["timeToLive"]["attribute"] in one["attributes"]}
    assert document["timeToLive"]["entities"].keys() == expiring
