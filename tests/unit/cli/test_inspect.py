"""`hashrange inspect`: keys and items as people write them, DynamoDB's JSON on request; and what a row is,
in this command, `check` and `snapshot`.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from hashrange.cli.main import DONE, FAILED, WRONG_USE, main
from hashrange.settings import Settings
from hashrange.testing import server

Printed = pytest.CaptureFixture[str]

ITEM: dict[str, Any] = {
    "pk": {"S": "user-1"},
    "sk": {"N": "1.5"},
    "tags": {"SS": ["a", "b"]},
    "name": {"S": "Ada"},
    "raw": {"B": "AAE="},
    "exact": {"N": "1.00000000000000000001"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder, and a snapshot of it: a table with two items, one of which is in a global index,
    and both in a local one.
    """
    path = tmp_path_factory.mktemp("inspected") / "data"
    settings = Settings(data_dir=str(path), port=0, admin=True)
    with server(settings) as database:
        client = database.client()
        key = [{"AttributeName": "pk", "KeyType": "HASH"}]
        client.create_table(
            TableName="Users",
            KeySchema=[*key, {"AttributeName": "sk", "KeyType": "RANGE"}],
            AttributeDefinitions=[
                {"AttributeName": one, "AttributeType": "N" if one == "sk" else "S"} for one in ("pk", "sk", "name")
            ],
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "by-name",
                    "KeySchema": [{"AttributeName": "name", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
            LocalSecondaryIndexes=[
                {
                    "IndexName": "local",
                    "KeySchema": [*key, {"AttributeName": "name", "KeyType": "RANGE"}],
                    "Projection": {"ProjectionType": "KEYS_ONLY"},
                }
            ],
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
        )
        client.put_item(TableName="Users", Item={**ITEM, "raw": {"B": b"\x00\x01"}})
        client.put_item(TableName="Users", Item={"pk": {"S": "user-2"}, "sk": {"N": "1"}})
        assert main(["snapshot", str(path.parent / "users.snapshot"), "--endpoint-url", database.endpoint]) == DONE
    return path


ROWS = 2 + 1 + 1
"""Items, and their entries in the two indexes."""


def test_a_row_is_the_same_in_all_three_commands(folder: Path, tmp_path: Path, capsys: Printed) -> None:
    """A stream's records, sizes of item collections and descriptions are no rows."""
    counted = {}
    with server(Settings(data_dir=str(folder), port=0, admin=True)) as database:
        assert main(["snapshot", str(tmp_path / "users.snapshot"), "--endpoint", database.endpoint]) == DONE
        counted["snapshot"] = capsys.readouterr().out
    for command in ("check", "inspect"):
        assert main([command, str(folder)]) == DONE
        counted[command] = capsys.readouterr().out
    assert {name: re.findall(r"([0-9,]+) rows\b", text) for name, text in counted.items()} == {
        name: [str(ROWS)] for name in ("snapshot", "check", "inspect")
    }


@pytest.mark.parametrize(
    "key",
    [
        '{"pk": "user-1", "sk": 1.5}',
        '{"pk": {"S": "user-1"}, "sk": {"N": "1.5"}}',
        '{"pk": "user-1", "sk": {"N": "1.50"}}',
        '{"pk": "user-1", "sk": {"$number": "1.5"}}',
    ],
)
def test_keys_are_written_in_both_ways(key: str, folder: Path, capsys: Printed) -> None:
    assert main(["inspect", str(folder), "--table", "Users", "--key", key]) == DONE
    head, _, item = capsys.readouterr().out.partition("\n")
    assert head == "Users (account 000000000000, Region us-east-1):"
    assert json.loads(item) == {
        "pk": "user-1",
        "sk": 1.5,
        "tags": {"$set": ["a", "b"]},
        "name": "Ada",
        "raw": {"$binary": "AAE="},
        "exact": {"$number": "1.00000000000000000001"},
    }


def test_dynamodbs_json_on_request(folder: Path, capsys: Printed) -> None:
    words = ["inspect", str(folder), "--table", "Users", "--key", '{"pk": "user-1", "sk": 1.5}', "--dynamodb-json"]
    assert main(words) == DONE
    assert json.loads(capsys.readouterr().out.partition("\n")[2]) == ITEM


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("{", "it is no JSON at line 1, column 2."),
        ('["user-1"]', "it is no JSON object."),
        ('{"pk": true}', "the value of pk is neither text nor a number nor binary."),
        ('{"pk": {"M": {}}}', "the value of pk is neither text nor a number nor binary."),
        ('{"pk": {"S": 1}}', "the value of pk is neither text nor a number nor binary."),
        ('{"pk": {"$sett": [1]}}', "an object whose only key is $sett must be one of "),
        ('{"pk": NaN}', '{"$number": "NaN"} is no number.'),
        ("[" * 100_000, "it is nested too deeply."),
    ],
)
def test_what_is_no_key_is_told_with_an_example(key: str, reason: str, folder: Path, capsys: Printed) -> None:
    assert main(["inspect", str(folder), "--table", "Users", "--key", key]) == WRONG_USE
    told = capsys.readouterr().err
    assert told.startswith(f"hashrange: --key is no key: {reason}")
    assert told.endswith('Write it as {"pk": "user-1"}, or in DynamoDB\'s JSON as {"pk": {"S": "user-1"}}.\n')


@pytest.mark.parametrize("words", [[], ["--key", '{"pk": "user-1", "sk": 1}']])
def test_a_misspelt_table_is_told_with_the_one_that_was_meant(words: list[str], folder: Path, capsys: Printed) -> None:
    assert main(["inspect", str(folder), "--table", "users", *words]) == FAILED
    assert "has no table users. Did you mean Users?" in capsys.readouterr().err
