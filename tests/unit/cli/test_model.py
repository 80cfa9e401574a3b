"""`hashrange model` at the prompt: what it runs, prints, writes and refuses. (Its rules: tests/unit/toolkit/models.)"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hashrange.cli.main import DONE

Printed = pytest.CaptureFixture[str]
Document = dict[str, Any]
KEYS = {"aws_access_key_id": "hashrange", "aws_secret_access_key": "hashrange", "region_name": "us-east-1"}
ORDERS: Document = {
    "name": "orders",
    "tables": [
        {
            "TableName": "Orders",
            "AttributeDefinitions": [
                {"AttributeName": "customer", "AttributeType": "S"},
                {"AttributeName": "number", "AttributeType": "N"},
            ],
            "KeySchema": [
                {"AttributeName": "customer", "KeyType": "HASH"},
                {"AttributeName": "number", "KeyType": "RANGE"},
            ],
        }
    ],
    "entities": [
        {
            "name": "Order",
            "key": {"customer": "{customer}", "number": "{number}"},
            "attributes": {
                "customer": {"type": "S", "required": True},
                "number": {"type": "N", "required": True},
                "total": {"type": "N"},
            },
            "samples": [{"customer": "ann", "number": 1, "total": 20}, {"customer": "ann", "number": 2}],
        }
    ],
    "accessPatterns": [
        {
            "name": "ordersOfCustomer",
            "entities": ["Order"],
            "operation": "Query",
            "partitionKey": "{customer}",
            "sample": {"values": {"customer": "ann"}, "itemCount": 2},
        }
    ],
}
Written = Callable[[Document], str]


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Writes a document; returns the name of its file."""

    def write(document: Document) -> str:
        path = tmp_path / "model.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return str(path)

    return write


def changed(path: str, value: Any) -> Document:
    """ORDERS with another value at a place such as `entities/0/name`."""
    document: Document = json.loads(json.dumps(ORDERS))
    *parents, last = [int(one) if one.isdecimal() else one for one in path.split("/")]
    at: Any = document
    for one in parents:
        at = at[one]
    at[last] = value
    return document


def test_the_command_runs_a_model_on_a_server_of_its_own(written: Written) -> None:
    words = [sys.executable, "-m", "hashrange", "model", written(ORDERS), "--output", "json"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (DONE, "")
    told = json.loads(done.stdout)
    [pattern] = told["accessPatterns"]
    assert (pattern["pattern"], pattern["items"], pattern["read units"]) == ("ordersOfCustomer", 2, 0.5)
    assert (told["sampleItems"], told["sampleWriteUnits"]) == (2, 2.0)
