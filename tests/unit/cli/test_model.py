"""`hashrange model` at the prompt: what it runs, prints, writes and refuses. (Its rules: tests/unit/toolkit/models.)"""

import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest

from hashrange.cli.main import DONE, FAILED, WRONG_USE, main
from hashrange.cli.model import FOUND
from tests.unit.toolkit.models.documents import SHOP, changed

pytestmark = pytest.mark.usefixtures("no_variables")

Printed = pytest.CaptureFixture[str]
Document = dict[str, Any]
KEYS = {"aws_access_key_id": "hashrange", "aws_secret_access_key": "hashrange", "region_name": "us-east-1"}
Written = Callable[[Document], str]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Writes a document; returns the name of its file."""

    def write(document: Document) -> str:
        path = tmp_path / "model.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return str(path)

    return write


def table_names(endpoint: str) -> list[str]:
    found: list[str] = boto3.client("dynamodb", endpoint_url=endpoint, **KEYS).list_tables()["TableNames"]
    return found


def test_the_command_runs_a_model_on_a_server_of_its_own(written: Written) -> None:
    words = [sys.executable, "-m", "hashrange", "model", written(SHOP), "--output", "json"]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
        "AWS_PROFILE": "missing",
    }
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (DONE, "")
    told = json.loads(done.stdout)
    pattern = told["accessPatterns"][0]
    assert (pattern["pattern"], pattern["items"], pattern["read units"]) == ("customerWithOrders", 3, 0.5)
    assert (told["model"], told["sampleItems"], told["sampleWriteUnits"]) == ("shop", 3, 5.0)
    assert [one["rule"] for one in told["findings"]] == ["one-table"]
    table, index = told["capacity"]
    assert (table["index"], table["reads/s"], table["writes/s"], index["index"]) == ("", 80, 21, "GSI1")
    assert table["USD/month"] == pytest.approx(80 * 2.628 * 0.125 + 21 * 2.628 * 0.625, abs=0.01)
    assert told["prices"] == "us-east-1 2026-11, unconfirmed"


def test_findings_are_told_and_counted_by_the_exit_code(written: Written, capsys: Printed) -> None:
    path = written(changed({"accessPatterns/1/sample/itemCount": 2}))
    assert main(["model", path]) == FOUND
    printed = capsys.readouterr()
    assert printed.err == ""
    lines = printed.out.splitlines()
    assert lines[0].split() == ["pattern", "operation", "index", "items", "expected", "requests", "read", "units"]
    told = [one for one in lines if one.startswith(("wrong", "advice", "note"))]
    assert told[0].startswith("wrong  access pattern customer: the number of items found is 1, and its sample says 2.")
    assert told[0].endswith(" [item-count]")
    assert lines[-1] == "3 sample items in 5 write units."


def test_csv_is_of_the_access_patterns(written: Written, capsys: Printed) -> None:
    assert main(["model", written(changed({"accessPatterns/1/sample": None})), "--output", "csv"]) == FOUND
    printed = capsys.readouterr()
    rows = list(csv.DictReader(printed.out.splitlines()))
    assert [(one["pattern"], one["items"]) for one in rows] == [("customerWithOrders", "3"), ("ordersOfStatus", "1")]
    assert printed.err.startswith("advice: access pattern customer: it has no sample")


def test_at_an_endpoint_tables_are_deleted_unless_they_are_kept(
    endpoint: str, written: Written, capsys: Printed
) -> None:
    words = ["model", written(SHOP), "--endpoint", endpoint]
    assert main(words) == DONE
    where = f"account 000000000000, Region us-east-1, endpoint {endpoint}."
    assert capsys.readouterr().err == f"Create 1 table of shop, to be deleted at the end: {where}\n"
    assert table_names(endpoint) == []
    assert main([*words, "--keep"]) == DONE
    assert table_names(endpoint) == ["Shop"]
    capsys.readouterr()
    assert main(words) == FAILED
    assert "refused CreateTable: ResourceInUseException" in capsys.readouterr().err
    assert table_names(endpoint) == ["Shop"]


def test_a_document_to_begin_with_is_written(tmp_path: Path, capsys: Printed) -> None:
    path, beside = tmp_path / "new.json", tmp_path / "new.schema.json"
    assert main(["model", "--init", str(path)]) == DONE
    assert json.loads(path.read_text(encoding="utf-8"))["$schema"] == "new.schema.json"
    assert json.loads(beside.read_text(encoding="utf-8"))["title"]
    assert capsys.readouterr().err == f"The model is in {path}, and the JSON Schema of models in {beside}.\n"
    before = path.read_bytes(), beside.read_bytes()
    assert main(["model", "--init", str(path)]) == WRONG_USE
    assert (path.read_bytes(), beside.read_bytes()) == before


def test_a_page_and_a_model_of_workbench_are_written(tmp_path: Path, written: Written, capsys: Printed) -> None:
    page, export, again = tmp_path / "drawing.html", tmp_path / "export.json", tmp_path / "again.json"
    assert main(["model", written(SHOP), "--html", str(page), "--to-workbench", str(export)]) == DONE
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert json.loads(export.read_text(encoding="utf-8"))["ModelName"] == "shop"
    assert f"The model is drawn in {page}." in capsys.readouterr().err
    assert main(["model", "--from-workbench", str(export), "--init", str(again)]) == DONE
    assert main(["model", str(again)]) == FOUND
    assert main(["model", "--from-workbench", str(export)]) == FOUND
    assert "[no-patterns]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "`hashrange model` needs FILE, a schema document; --init FILE writes one to begin with."),
        (["missing.json"], "the file missing.json cannot be read: No such file or directory. Name another one."),
        (["a.json", "--init", "b.json"], "--init stands for FILE; leave one out."),
        (["a.json", "--from-workbench", "b.json"], "--from-workbench stands for FILE; leave one out."),
        (["a.json", "--output", "yaml"], '--output is "yaml"; it must be table, json or csv.'),
        (["--init", "no/where.json"], "the file no/where.json cannot be written: No such file or directory. Name"),
        (["--from-workbench", "missing.json", "--init", "b.json"], "the file missing.json cannot be read: No such"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(words: list[str], sentence: str, capsys: Printed) -> None:
    assert main(["model", *words]) == WRONG_USE
    error = capsys.readouterr().err
    assert error.startswith(f"hashrange: {sentence}")
    assert error.count("\n") == 1


def test_keeping_needs_an_endpoint(written: Written, capsys: Printed) -> None:
    assert main(["model", written(SHOP), "--keep"]) == WRONG_USE
    assert capsys.readouterr().err.startswith("hashrange: --keep needs --endpoint, --aws or --profile")


def test_files_that_are_there_are_told_before_anything_is_run(written: Written, capsys: Printed) -> None:
    path = written(SHOP)
    for option in ("--html", "--to-workbench"):
        assert main(["model", path, option, path]) == WRONG_USE
        assert capsys.readouterr() == ("", f"hashrange: the file {path} exists already. Name another one.\n")


def test_each_contradiction_is_a_sentence(written: Written, capsys: Printed) -> None:
    path = written(changed({"entities/0/key/SK": "{nam}", "accessPatterns/2/partitionKey": None}))
    assert main(["model", path]) == WRONG_USE
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(f"hashrange: {path}: the entity Customer: the key: the template")
    assert second.startswith(
        f"hashrange: {path}: the access pattern ordersOfStatus: partitionKey needs a template for each"
    )


def test_of_many_contradictions_the_first_are_told(written: Written, capsys: Printed) -> None:
    names = [f"Q{number}" for number in range(90)]
    path = written(changed({"accessPatterns/0/entities": names, "accessPatterns/1/entities": names}))
    assert main(["model", path]) == WRONG_USE
    *told, last = capsys.readouterr().err.splitlines()
    assert len(told) == 100
    assert last.endswith("model.json: there is more that contradicts itself. Mend these 100 first.")
    path = written(changed({"accessPatterns/0/entities": names, "accessPatterns/1/entities": names[:10]}))
    assert main(["model", path]) == WRONG_USE
    assert len(capsys.readouterr().err.splitlines()) == 100
