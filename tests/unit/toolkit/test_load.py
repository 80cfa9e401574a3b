"""`hashrange load` against a server: the items of every form arrive, and bad records are told with their place."""

import gzip
import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hashrange.cli.main import DONE, FAILED, WRONG_USE
from hashrange.toolkit.moving.compressed import ZSTD_MODULE
from tests.unit.toolkit.moved_tables import Tables, as_sent, random_items, simple_items

ITEMS = random_items(2, 150)
PLAIN = simple_items(60)


@pytest.fixture
def tables(endpoint: str, tmp_path: Path, capsys: Any) -> Tables:
    return Tables(endpoint, tmp_path, capsys)


@pytest.fixture
def table(tables: Tables, request: pytest.FixtureRequest) -> str:
    """An empty table."""
    name = f"Table{len(tables.client.list_tables()['TableNames'])}"
    tables.make(name)
    return name


@pytest.fixture(scope="module", autouse=True)
def filled(endpoint: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    tables = Tables(endpoint, tmp_path_factory.mktemp("filling"), None)
    tables.make("Source")
    tables.fill("Source", ITEMS)


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.json.gz", "a.jsonl.zst", "a.dynamodb-json", "a.json.zst"])
def test_what_scan_wrote_is_loaded(tables: Tables, table: str, name: str) -> None:
    form = ["--format", "dynamodb-json"] if name.endswith("dynamodb-json") else []
    assert tables.run("scan", "--table", "Source", "--output", tables.path(name), *form) == DONE
    assert tables.run("load", tables.path(name), "--table", table, *form) == DONE
    assert as_sent(tables.items(table)) == as_sent(tables.items("Source"))
    first, last = tables.told.splitlines()
    assert first.startswith(f"Load {tables.path(name)} into the table {table}: account 000000000000, Region us-east-1")
    assert last.startswith(f"150 items in the table {table}, ")
    assert {path.name for path in tables.folder.iterdir()} == {name}


def test_csv_has_strings_and_the_types_that_are_said(tables: Tables, table: str) -> None:
    path = tables.write("a.csv", '\ufeffid,at,total,tags,note\na,1,5,"{""$set"":[""x""]}",\n"b\nc",2,,,hello\n')
    assert tables.run("load", path, "--table", table, "--types", "total=N,tags=JSON") == DONE
    assert tables.items(table) == [
        {"id": {"S": "a"}, "at": {"N": "1"}, "total": {"N": "5"}, "tags": {"SS": ["x"]}},
        {"id": {"S": "b\nc"}, "at": {"N": "2"}, "note": {"S": "hello"}},
    ]


def test_csv_that_scan_wrote_comes_back(tables: Tables, table: str) -> None:
    texts = ["a\rb", "\n", 'a"b', "a,b", " a ", "\u2028", "x" * 200_000, "true", ";"]
    items = [{"id": {"S": text[:9]}, "at": {"N": "1"}, text[:9]: {"S": text}} for text in texts]
    tables.make("Texts")
    tables.fill("Texts", items)
    assert tables.run("scan", "--table", "Texts", "--output", tables.path("a.csv")) == DONE
    assert tables.run("load", tables.path("a.csv"), "--table", table) == DONE
    assert tables.items(table) == tables.items("Texts")


def test_numbers_of_plain_json_stay_exact(tables: Tables, table: str) -> None:
    exact = "12345678901234567890.123456789"
    item = f'{{"id":"%s","at":{exact},"big":123456789012345678901234567890}}'
    assert tables.run("load", tables.write("a.jsonl", item % "a"), "--table", table) == DONE
    assert tables.run("load", tables.write("a.json", f"[{item % 'b'}]"), "--table", table) == DONE
    for found in tables.items(table):
        assert Decimal(found["at"]["N"]) == Decimal(exact)
        assert Decimal(found["big"]["N"]) == 123456789012345678901234567890


@pytest.mark.parametrize("name", ["", "AWSDynamoDB/01-a", "AWSDynamoDB/01-a/manifest-summary.json"])
def test_a_full_export_is_loaded(tables: Tables, table: str, name: str) -> None:
    begin = "AWSDynamoDB/01-a"
    for number, some in enumerate((PLAIN[:30], PLAIN[30:])):
        lines = b"".join(json.dumps({"Item": as_text(item)}).encode() + b"\n" for item in some)
        tables.write(f"copy/{begin}/data/{number}.json.gz", gzip.compress(lines))
    keys = [json.dumps({"itemCount": 30, "dataFileS3Key": f"pre/{begin}/data/{n}.json.gz"}) for n in range(2)]
    tables.write(f"copy/{begin}/manifest-files.json", "\n".join(keys) + "\n")
    tables.write(f"copy/{begin}/manifest-summary.json", json.dumps({"outputFormat": "DYNAMODB_JSON"}))
    assert tables.run("load", tables.path(f"copy/{name}"), "--table", table) == DONE
    assert tables.items(table) == PLAIN
    (tables.folder / f"copy/{begin}/data/1.json.gz").unlink()
    assert tables.run("load", tables.path(f"copy/{name}"), "--table", table) == WRONG_USE
    assert "1.json.gz is missing" in tables.told


def as_text(item: Any) -> Any:
    return json.loads(json.dumps(item))


def test_an_incremental_export_puts_and_deletes(tables: Tables, table: str) -> None:
    tables.fill(table, PLAIN[:3])
    change = {"Metadata": {"WriteTimestampMicros": {"N": "1"}}}
    keys = [{name: item[name] for name in ("id", "at")} for item in PLAIN[:3]]
    lines = [
        change | {"Keys": keys[0], "OldImage": PLAIN[0]},
        change | {"Keys": keys[1], "NewImage": PLAIN[1] | {"text": {"S": "new"}}},
    ]
    path = tables.write("data/a.json", "".join(json.dumps(line) + "\n" for line in lines))
    assert tables.run("load", path, "--table", table) == DONE
    assert tables.items(table) == [PLAIN[1] | {"text": {"S": "new"}}, PLAIN[2]]
    assert "1 item, 1 deletion in the table" in tables.told


def test_standard_input_is_loaded(tables: Tables, table: str) -> None:
    process = tables.start("load", "-", "--table", table)
    told = process.communicate(b'{"id":"a","at":1}\n{"id":"b"}\n')[1].decode()
    assert process.returncode == FAILED
    assert "-:2: it has no attribute at" in told
    assert [item["id"]["S"] for item in tables.items(table)] == ["a"]
    assert not list(tables.folder.iterdir())


def test_zstd_needs_an_extra(tables: Tables, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tables.write("a.jsonl.zst", b"")
    monkeypatch.setitem(sys.modules, ZSTD_MODULE, None)
    for words in (["load", path], ["scan", "--output", path]):
        assert tables.run(*words, "--table", table) == WRONG_USE
        assert f"the file {path} needs zstd, which is not installed. Install it: pip install" in tables.told


def test_a_folder_of_files_is_loaded(tables: Tables, table: str) -> None:
    for number in range(3):
        tables.write(f"some/{number}.jsonl", "".join(f'{{"id":"{number}","at":{n}}}\n' for n in range(30)))
    tables.write("some/readme.txt", "no items")
    assert tables.run("load", tables.path("some"), "--table", table) == DONE
    assert len(tables.items(table)) == 90


def test_the_last_record_of_a_key_wins(tables: Tables, table: str) -> None:
    lines = [f'{{"id":"{n % 7}","at":{n % 2}.0,"n":{n}}}\n' for n in range(700)]
    assert tables.run("load", tables.write("a.jsonl", "".join(lines)), "--table", table) == DONE
    found = {(item["id"]["S"], item["at"]["N"]): int(item["n"]["N"]) for item in tables.items(table)}
    assert found == {(str(n % 7), str(n % 2)): n for n in range(700)}


UNREADABLE = "the file cannot be read from here on: "
BAD = [
    ('{"id":"a"}', "it has no attribute at, which the table's key needs."),
    ('{"id":5,"at":1}', "its attribute id is no string, which the table's key needs."),
    ('{"id":"a","at":"x"}', "its attribute at is no number, which the table's key needs."),
    ("[1]", "it is no JSON object: "),
    ('{"id":"a"', "it is no JSON object: "),
    ('{"id":"","at":1}', "empty string value"),
    ('{"id":"a","at":1,"x":{"$set":[]}}', "an object whose only key is $set must be one of"),
    ('{"Item":{"id":{"S":"a"},"at":{"N":"1"},"x":{"SS":[]}}}', "An string set may not be empty"),
    ('{"Item":{"id":{"S":"a"},"at":{"N":"1"},"x":5}}', "SerializationException"),
]


def test_bad_records_are_told_with_their_place_and_the_others_loaded(tables: Tables, table: str) -> None:
    lines: list[str] = []
    for number, (bad, _) in enumerate(BAD):
        lines += [f'{{"id":"good {number}","at":{n}}}' for n in range(10)] + ["", bad]
    path = tables.write("a.jsonl", "\n".join(lines))
    assert tables.run("load", path, "--table", table) == FAILED
    assert len(tables.items(table)) == 10 * len(BAD)
    told = dict(line.removeprefix(f"{path}:").split(": ", 1) for line in tables.told.splitlines()[1:-2])
    assert sorted(map(int, told)) == [12 * (number + 1) for number in range(len(BAD))]
    for number, (_, reason) in enumerate(BAD):
        assert reason in told[str(12 * (number + 1))]
    assert tables.told.splitlines()[-1] == f"{len(BAD)} records could not be loaded."


@pytest.mark.parametrize(
    ("name", "content", "place", "reason"),
    [
        ("a.json", '[{"id":"a","at":1},{"id":', 2, f"{UNREADABLE}it is no JSON"),
        ("a.json", '[{"id":"a","at":1} {"id":"b","at":1}]', 2, f"{UNREADABLE}a comma is missing between two values."),
        ("a.json", '[{"id":"a","at":1}', 2, f"{UNREADABLE}the array has no end."),
        ("a.json", '[{"id":"a","at":1}, 5]', 2, "it is no object."),
        ("a.csv", "id,at\na,1\nb,2,3\n", 3, "it has 3 cells, and the header names 2 columns."),
        ("a.csv", b"id,at\na,1\n\xff,2\n", 3, "it has text that is no UTF-8."),
        ("a.json", b'[{"id":"a","at":1},{"id":"\xff","at":1}]', 2, "it has text that is no UTF-8."),
        ("a.jsonl.gz", gzip.compress(b'{"id":"a","at":1}\n')[:-4], 1, UNREADABLE),
        ("a.jsonl.zst", "no zstd", 1, UNREADABLE),
    ],
)  # fmt: skip
def test_a_damaged_file_is_told(
    tables: Tables, table: str, name: str, content: bytes | str, place: int, reason: str
) -> None:
    path = tables.write(name, content)
    assert tables.run("load", path, "--table", table) == FAILED
    assert f"{path}:{place}: {reason}" in tables.told


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["missing.json", "--table", "Source"], "there is no file missing.json."),
        (["."], "no table is named. Say --table NAME."),
        (["-", "--table", "Source", "--resume"], "--resume needs a FILE: standard input cannot be read again."),
        ([__file__, "--table", "Source", "--types", "a=X"], '--types has "a=X"; write a column and one of S, N'),
        ([__file__, "--table", "Source", "--types", "at=S"], "--types names at, whose type is that of the"),
        ([__file__, "--table", "Source", "--resume"], "there is nothing to go on with: there is no "),
        ([__file__, "--table", "Source", "--mask", "missing.toml"], "the rules missing.toml cannot be read: No such"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_in_a_sentence(tables: Tables, words: list[str], sentence: str) -> None:
    assert tables.run("load", *words) == WRONG_USE
    assert sentence in tables.told
    assert tables.told.count("\n") == 1


def test_a_missing_table_is_told_before_anything_is_sent(tables: Tables) -> None:
    assert tables.run("load", tables.write("a.jsonl", ""), "--table", "Missing") == FAILED
    assert tables.told.startswith("hashrange: there is no table Missing in us-east-1 at")
