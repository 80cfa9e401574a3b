"""Exports, read by other programs: their JSON lines by DuckDB, their Ion by Node's library."""

import gzip
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from hashrange.settings import Settings
from hashrange.testing import Database, server
from tests.clients.programs import node
from tests.support.memory_objects import MemoryObjects
from tests.unit.transfers.transferred import BUCKET, TABLE, create, exported, give_objects, need_no_setting, switch_on

READER = Path(__file__).parent / "exports"


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    need_no_setting(monkeypatch)
    with server(Settings(data_dir=None, port=0)) as opened:
        create(opened.client())
        switch_on(opened)
        yield opened


def data_of(objects: MemoryObjects) -> list[bytes]:
    return [content for key, content in objects[BUCKET].items() if "/data/" in key]


def test_a_columnar_reader_reads_the_json_lines(database: Database, tmp_path: Path) -> None:
    client: Any = database.client()
    for number in range(200):
        item = {"id": {"S": f'"{number}" \n'}, "n": {"N": str(number)}, "tags": {"SS": ["a", "b"]}}
        client.put_item(TableName=TABLE, Item=item)
    objects = give_objects(database)
    exported(client)
    for number, content in enumerate(data_of(objects)):
        (tmp_path / f"{number}.json.gz").write_bytes(content)
    query = f"SELECT sum(Item.n.N::INT), count(DISTINCT Item.id.S), min(len(Item.tags.SS)) FROM '{tmp_path}/*.json.gz'"
    assert duckdb.execute(query).fetchall() == [(sum(range(200)), 200, 2)]


@pytest.mark.needs("node")
def test_nodes_library_reads_ion(database: Database) -> None:
    client: Any = database.client()
    item: dict[str, Any] = {
        "id": {"S": 'a "quoted" \\ text\n\U0001f600'},
        "n": {"N": "-12.5"},
        "whole": {"N": "3"},
        "b": {"B": b"\x00\xff"},
        "yes": {"BOOL": True},
        "none": {"NULL": True},
        "it's": {"SS": ["x"]},
        "l": {"L": [{"N": "1"}]},
        "m": {"M": {"null": {"S": "y"}}},
    }
    client.put_item(TableName=TABLE, Item=item)
    objects = give_objects(database)
    exported(client, ExportFormat="ION")
    text = b"".join(map(gzip.decompress, data_of(objects)))
    read = subprocess.run([node(READER), str(READER / "read_ion.js")], input=text, capture_output=True, check=True)
    told = json.loads(read.stdout)
    assert told["id"] == ["string", item["id"]["S"]]
    assert (told["n"], told["whole"]) == (["decimal", "-12.5"], ["decimal", "3"])
    assert (told["b"], told["yes"], told["none"][0]) == (["blob", "AP8="], ["bool", "true"], "null")
    assert told["it's"][:2] == ["$dynamodb_SS", "list"]
    assert (told["l"][0], told["m"][0]) == ("list", "struct")
