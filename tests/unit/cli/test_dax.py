"""`hashrange dax` prints how the nodes of a running server are used."""

from typing import Any

import pytest

from hashrange.cli import dax
from hashrange.cli.main import main
from hashrange.settings import Settings
from hashrange.testing import Database, server
from tests.support.dax_client import DaxClient


def ask(database: Database, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert main(["dax", "--endpoint", database.endpoint]) == 0
    return capsys.readouterr().out.splitlines()


def test_hits_and_the_hottest_items_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with server(Settings(data_dir=None, port=0, dax_port=0, admin=True)) as database:
        database.client(region_name="eu-west-1").create_table(
            TableName="films",
            KeySchema=[{"AttributeName": "name", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "name", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        with DaxClient(str(database.dax_endpoint)) as client:
            for number in range(40):
                client.call("getItem", b"films", b"hot" if number % 4 else f"cold {number}".encode(), None)
            client.call("scan", b"films", None)
            lines = ask(database, capsys)
    assert lines[0].startswith("default, node default-a, port ")
    assert lines[0].endswith(": 1 connection, 41 requests, 0 failed")
    assert "of 2,147,483,648 bytes, 0 evicted" in lines[1]
    assert lines[2:4] == [
        "  item  cache   29 hits, 11 misses: 72.5 % hits",
        "  scan  cache   0 hits, 1 misses: 0.0 % hits",
    ]
    assert any("films hot: about" in line for line in lines[4:])


def test_a_server_without_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    with server(Settings(data_dir=None, port=0, admin=True)) as database:
        assert ask(database, capsys) == [dax.NONE_RUNS]


@pytest.mark.parametrize(("encoded", "shown"), [("aG90", "hot"), ("/w==", "ff"), ("AGE=", "0061")])
def test_keys_are_shown_as_text_or_digits(encoded: str, shown: Any) -> None:
    assert dax.shown_key(encoded) == shown
