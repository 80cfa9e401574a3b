"""Tables whose items the tests of `scan`, `load` and `copy` move, and the commands that do it."""

import base64
import json
import os
import random
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import boto3
from boto3.dynamodb.types import Binary

from hashrange.cli.main import main
from tests.unit.testing.suites import SOURCE

Item = dict[str, Any]
KEYS = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}


class Tables:
    """Tables at an endpoint, and commands that move their items."""

    def __init__(self, endpoint: str, folder: Path, printed: Any) -> None:
        self.endpoint, self.folder, self._printed = endpoint, folder, printed
        self.client: Any = boto3.client("dynamodb", endpoint_url=endpoint, **KEYS)
        self.out, self.told = "", ""

    def make(self, name: str, **members: Any) -> None:
        """Create a table with the key `id`, a string, and a sort key `at`, a number."""
        self.client.create_table(
            TableName=name,
            AttributeDefinitions=[
                {"AttributeName": "id", "AttributeType": "S"},
                {"AttributeName": "at", "AttributeType": "N"},
            ],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}],
            BillingMode="PAY_PER_REQUEST",
            **members,
        )

    def fill(self, name: str, items: list[Item]) -> None:
        """Put items."""
        for start in range(0, len(items), 25):
            puts = [{"PutRequest": {"Item": item}} for item in items[start : start + 25]]
            reply = self.client.batch_write_item(RequestItems={name: puts})
            assert not reply["UnprocessedItems"]

    def items(self, name: str) -> list[Item]:
        """All items, in the order of their keys."""
        found: list[Item] = []
        for page in self.client.get_paginator("scan").paginate(TableName=name):
            found += page["Items"]
        return sorted(found, key=key_of)

    def run(self, *words: str) -> int:
        """Run a command in this process, at this endpoint; the exit code."""
        code = main([*words, "--endpoint", self.endpoint])
        self.out, self.told = self._printed.readouterr()
        return code

    def path(self, name: str) -> str:
        """The path of a file."""
        return str(self.folder / name)

    def read(self, name: str) -> bytes:
        """The content of a file."""
        return (self.folder / name).read_bytes()

    def write(self, name: str, content: bytes | str) -> str:
        """Write a file; its path."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    def start(self, *words: str) -> "subprocess.Popen[bytes]":
        """Run a command in a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "hashrange", *words, "--endpoint", self.endpoint],
            env=os.environ | {"PYTHONPATH": str(SOURCE)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )


def key_of(item: Item) -> tuple[str, float]:
    """Sorts items."""
    return item["id"]["S"], float(item["at"]["N"])


def simple_items(number: int) -> list[Item]:
    """Items of some 100 bytes, in the order of their keys."""
    return sorted(
        [{"id": {"S": f"item {n}"}, "at": {"N": str(n)}, "text": {"S": "x" * 60}} for n in range(number)], key=key_of
    )


def random_items(seed: int, number: int) -> list[Item]:
    """Items with values of all types."""
    chance = random.Random(seed)
    return sorted(
        [{"id": {"S": f"item {n}\n"}, "at": {"N": str(n)}, "value": random_value(chance)} for n in range(number)],
        key=key_of,
    )


def random_value(chance: random.Random, depth: int = 2) -> dict[str, Any]:
    """A value of any type."""
    kinds = ["S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS"] + ["L", "M"] * (depth > 0)
    kind = chance.choice(kinds)
    text = "".join(chance.choices('aä"\\\n\u202e,;{}€😀', k=chance.randrange(8)))
    if kind == "S":
        return {"S": text}
    if kind == "N":
        return {"N": chance.choice(["0", "-1.5", "12345678901234567890123456789012345678", "1E+125", "0.1", "1E-130"])}
    if kind == "B":
        return {"B": chance.randbytes(chance.randrange(9))}
    if kind == "BOOL":
        return {"BOOL": chance.random() < 0.5}
    if kind == "NULL":
        return {"NULL": True}
    if kind == "SS":
        return {"SS": sorted({f"{text}{n}" for n in range(chance.randrange(1, 4))})}
    if kind == "NS":
        return {"NS": [str(n) for n in range(chance.randrange(1, 4))]}
    if kind == "BS":
        return {"BS": [bytes([n]) for n in range(chance.randrange(1, 4))]}
    if kind == "L":
        return {"L": [random_value(chance, depth - 1) for _ in range(chance.randrange(4))]}
    return {"M": {"$" * (n % 2) + f"k{n}": random_value(chance, depth - 1) for n in range(chance.randrange(4))}}


def lines_of(content: bytes | str) -> list[Any]:
    """The values of lines of JSON."""
    return [json.loads(line) for line in content.splitlines() if line.strip()]


def as_sent(value: Any) -> Any:
    """An item, or several, in DynamoDB JSON whose numbers can be compared."""
    if isinstance(value, dict):
        if value.keys() == {"N"} and isinstance(value["N"], str):
            return {"N": Decimal(value["N"])}
        return {name: as_sent(one) for name, one in value.items()}
    if isinstance(value, list):
        return [as_sent(one) for one in value]
    if isinstance(value, bytes | Binary):
        return base64.b64encode(bytes(value)).decode()
    return value
