"""`hashrange scan` against a server: every item is written once, in every form."""

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from backports import zstd

from hashrange.cli.main import DONE, FAILED, WRONG_USE
from hashrange.toolkit.plain_items import typed_item
from tests.unit.toolkit.moved_tables import Tables, as_sent, lines_of, random_items, simple_items

ITEMS = random_items(1, 200)
PLAIN = simple_items(60)


@pytest.fixture
def tables(endpoint: str, tmp_path: Path, capsys: Any) -> Tables:
    return Tables(endpoint, tmp_path, capsys)


@pytest.fixture(scope="module", autouse=True)
def filled(endpoint: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    tables = Tables(endpoint, tmp_path_factory.mktemp("filling"), None)
    tables.make("MyTable")
    tables.fill("MyTable", ITEMS)
    tables.make("Plain")
    tables.fill("Plain", [item | {"status": {"S": "active" if n % 2 else "ended"}} for n, item in enumerate(PLAIN)])


def by_key(items: list[Any]) -> dict[Any, Any]:
    found = {(item["id"]["S"], item["at"]["N"]): as_sent(item) for item in items}
    assert len(found) == len(items), "an item is there twice"
    return found


def test_the_first_line_of_the_mission(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", tables.endpoint)
    monkeypatch.chdir(tables.folder)
    process = tables.start("scan", "--table", "MyTable", "--segments", "10", "--output", "results.json")
    assert process.communicate()[0] == b""
    assert process.returncode == DONE
    found = json.loads(tables.read("results.json"))
    assert by_key(list(map(typed_item, found))) == by_key(tables.items("MyTable"))
    assert not list(tables.folder.glob("*.scan-progress*"))


def test_the_second_line_of_the_mission(tables: Tables) -> None:
    words = ["scan", "--table", "Plain", "--filter", "status = :s", "--values", '{":s":{"S":"active"}}']
    assert tables.run(*words) == DONE
    assert len(lines_of(tables.out)) == 30
    assert {item["status"] for item in lines_of(tables.out)} == {"active"}
    assert tables.told == ("Note: status is a reserved word of DynamoDB; #status is sent instead.\n")


@pytest.mark.parametrize(
    ("name", "unpacked"),
    [("items.jsonl", bytes), ("items.jsonl.gz", gzip.decompress), ("items.ndjson.zst", zstd.decompress)],
)
def test_lines_of_plain_json(tables: Tables, name: str, unpacked: Any) -> None:
    assert tables.run("scan", "--table", "MyTable", "--output", tables.path(name)) == DONE
    found = map(typed_item, lines_of(unpacked(tables.read(name))))
    assert by_key(list(found)) == by_key(tables.items("MyTable"))
    assert tables.told == f"200 items of MyTable in {tables.path(name)}.\n"


def test_dynamodb_json_has_the_lines_of_an_export(tables: Tables) -> None:
    assert tables.run("scan", "--table", "MyTable", "--format", "dynamodb-json") == DONE
    lines = lines_of(tables.out)
    assert all(line.keys() == {"Item"} for line in lines)
    assert by_key([line["Item"] for line in lines]) == by_key(tables.items("MyTable"))


def test_one_array_is_compressed_too(tables: Tables) -> None:
    path = tables.path("items.json.gz")
    assert tables.run("scan", "--table", "MyTable", "--output", path, "--segments", "1") == DONE
    assert len(json.loads(gzip.decompress(tables.read("items.json.gz")))) == len(ITEMS)


def test_an_empty_table_is_an_empty_array(tables: Tables) -> None:
    tables.make("Empty")
    assert tables.run("scan", "--table", "Empty", "--format", "json") == DONE
    assert json.loads(tables.out) == []
    assert tables.run("scan", "--table", "Empty", "--output", tables.path("empty.csv")) == DONE
    assert tables.read("empty.csv") == b"\n"


def test_csv_has_a_column_for_each_attribute(tables: Tables) -> None:
    assert tables.run("scan", "--table", "Plain", "--output", tables.path("items.csv")) == DONE
    rows = list(csv.DictReader(io.StringIO(tables.read("items.csv").decode())))
    assert list(rows[0]) == ["id", "at", "status", "text"]
    assert {row["id"]: row["at"] for row in rows} == {item["id"]["S"]: item["at"]["N"] for item in PLAIN}
    assert len(rows) == len(PLAIN)
    assert {path.name for path in tables.folder.iterdir()} == {"items.csv"}


def test_csv_on_standard_output(tables: Tables) -> None:
    words = ["--projection", "#i, text, value", "--names", '{"#i": "id"}', "--format", "csv"]
    assert tables.run("scan", "--table", "MyTable", *words) == DONE
    rows = list(csv.reader(io.StringIO(tables.out)))
    assert rows[0] == ["id", "value"]
    assert len(rows) == len(ITEMS) + 1
    assert tables.told.startswith("Note: text, value are reserved words of DynamoDB; #text, #value is sent")


@pytest.mark.parametrize("form", ["jsonl", "json"])
def test_a_limit_is_kept(tables: Tables, form: str) -> None:
    assert tables.run("scan", "--table", "Plain", "--limit", "7", "--segments", "3", "--format", form) == DONE
    assert len(json.loads(tables.out) if form == "json" else lines_of(tables.out)) == 7


def test_an_index_is_read(tables: Tables) -> None:
    index = {"IndexName": "by-at", "KeySchema": [{"AttributeName": "at", "KeyType": "HASH"}]}
    tables.make("Indexed", GlobalSecondaryIndexes=[index | {"Projection": {"ProjectionType": "KEYS_ONLY"}}])
    tables.fill("Indexed", PLAIN)
    assert tables.run("scan", "--table", "Indexed", "--index", "by-at") == DONE
    assert {frozenset(line) for line in lines_of(tables.out)} == {frozenset({"id", "at"})}
    assert tables.run("scan", "--table", "Indexed", "--index", "by") == WRONG_USE
    assert "has no index by. Its indexes are by-at." in tables.told


def test_an_older_file_is_overwritten(tables: Tables) -> None:
    path = tables.write("items.jsonl", "old\n" * 100_000)
    assert tables.run("scan", "--table", "Plain", "--output", path) == DONE
    assert len(lines_of(tables.read("items.jsonl"))) == len(PLAIN)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "no table is named. Say --table NAME."),
        (["--table", "MyTable", "--format", "xml"], '--format is "xml"; it must be json, jsonl, csv or dynamodb-json.'),
        (
            ["--table", "MyTable", "--segments", "0"],
            '--segments is "0"; it must be a whole number from 1 to 1,000.',
        ),
        (["--table", "MyTable", "--limit", "-1"], '--limit is "-1"; it must be a whole number from 1 on.'),
        (["--table", "MyTable", "--rate-limit", "nan"], '--rate-limit is "nan"; it must be capacity units per second'),
        (["--table", "MyTable", "--values", "[]"], "--values is no JSON object, such as"),
        (["--table", "MyTable", "--names", '{"#n": 5}'], "--names is no JSON object of strings, such as"),
        (["--table", "MyTable", "--resume"], "--resume needs --output FILE"),
        (["--table", "MyTable", "--output", "/missing/x.json"], "/missing/x.json"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(tables: Tables, words: list[str], sentence: str) -> None:
    assert tables.run("scan", *words) == WRONG_USE
    assert sentence in tables.told
    assert tables.told.count("\n") == 1
    assert not tables.out


def test_what_fails_before_it_begins_leaves_nothing_to_go_on_with(tables: Tables) -> None:
    path = tables.path("items.jsonl")
    assert tables.run("scan", "--table", "MyTable", "--filter", "id =", "--output", path) == FAILED
    assert tables.run("scan", "--table", "MyTable", "--output", path) == DONE
    assert tables.run("scan", "--table", "MyTable", "--output", str(tables.folder)) == WRONG_USE
    assert f"the file {tables.folder} cannot be written: Is a directory. Name another one." in tables.told
    assert not list(tables.folder.parent.glob("*.scan-progress"))


def test_refusals_are_told(tables: Tables) -> None:
    assert tables.run("scan", "--table", "Missing") == FAILED
    assert "there is no table Missing in us-east-1 at" in tables.told
    assert tables.run("scan", "--table", "MyTable", "--filter", "id =") == FAILED
    assert "refused Scan: ValidationException: Invalid FilterExpression: Syntax error" in tables.told


def test_what_is_no_dynamodb_is_told(tables: Tables, unused_endpoint: str) -> None:
    tables.endpoint = unused_endpoint
    assert tables.run("scan", "--table", "MyTable") == FAILED
    assert "no server answers in us-east-1 at" in tables.told


def test_a_reader_that_ends_early_is_no_failure(tables: Tables) -> None:
    process = tables.start("scan", "--table", "MyTable")
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait() == 141
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.stdin is not None
    process.stdin.close()
