"""The examples of the page on commands for any endpoint do what the page says."""

import io
import json
import shlex
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import boto3

from hashrange.cli.main import DONE, main
from hashrange.toolkit.moving.masking import read_masks
from tests.clients.design_readers import read_cloudformation
from tests.docs.pages import ROOT, examples_of
from tests.docs.runs import Commands

KEYS = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
PAGE = (ROOT / "docs" / "toolkit.md").read_text(encoding="utf-8")


ORDER = {"customer": {"S": "c"}, "created": {"N": "1"}, "status": {"S": "active"}}


def test_the_examples_design_and_create_a_table_and_move_its_items(tmp_path: Path) -> None:
    examples = examples_of(PAGE)
    commands, *others = [one for one in examples if one.language == "sh"]
    [shown] = [one for one in examples if one.language == "text"]
    with Commands(examples, tmp_path) as running:
        said = running.run(commands.text)
        client: Any = boto3.client("dynamodb", endpoint_url=running.endpoint, **KEYS)
        client.put_item(TableName="Orders", Item=ORDER)
        moved = [running.run(one.text) for one in others]
        copied = client.scan(TableName="OrdersCopy")["Items"]
        client.close()
    assert shown.text in said
    [(service, operation, table), (_, ttl, _)] = read_cloudformation(
        (tmp_path / "orders.yaml").read_text(encoding="utf-8")
    )
    assert (service, operation, ttl) == ("dynamodb", "create_table", "update_time_to_live")
    assert table["TableName"] == "Orders"
    order = {"customer": "c", "created": 1, "status": "active"}
    assert json.loads((tmp_path / "orders.json").read_text(encoding="utf-8")) == [order]
    assert json.loads(moved[0]) == order
    assert copied == [ORDER]


def test_the_rules_of_masks_are_read(tmp_path: Path) -> None:
    [rules] = [one for one in examples_of(PAGE) if one.language == "toml" and "drop" in one.text]
    (tmp_path / "rules.toml").write_text(rules.text, encoding="utf-8")
    assert len(read_masks(str(tmp_path / "rules.toml"), ["customer"]).unused) == 5


def test_the_example_of_costs_prints_what_the_page_shows() -> None:
    [shown] = [one.text for one in examples_of(PAGE) if one.text.startswith("$ hashrange capacity ")]
    command, _, rows = shown.partition("\n")
    printed = io.StringIO()
    with redirect_stdout(printed):
        assert main(shlex.split(command.removeprefix("$ hashrange "))) == DONE
    assert printed.getvalue().startswith(rows)


def test_the_example_of_prices_can_be_used(tmp_path: Path) -> None:
    [prices] = [one.text for one in examples_of(PAGE) if one.language == "toml" and "[regions" in one.text]
    path = tmp_path / "prices.toml"
    path.write_text(prices, encoding="utf-8")
    words = "--item-size 1 --reads 1 --writes 1 --free-tier --dax-hits 90 --extra stream-reads=3000000 --output csv"
    shown = {}
    for source in (str(path), "2024-10"):
        printed = io.StringIO()
        with redirect_stdout(printed):
            assert main(["capacity", *words.split(), "--prices", source]) == DONE
        shown[source] = {line for line in printed.getvalue().splitlines() if "3 years" not in line}
    assert shown[str(path)] == shown["2024-10"]
