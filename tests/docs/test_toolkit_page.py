"""The examples of the page on commands for any endpoint do what the page says."""

import io
import shlex
from contextlib import redirect_stdout
from pathlib import Path

from hashrange.cli.main import DONE, main
from tests.clients.design_readers import read_cloudformation
from tests.docs.pages import ROOT, examples_of
from tests.docs.runs import Commands

PAGE = (ROOT / "docs" / "toolkit.md").read_text(encoding="utf-8")


def test_the_example_designs_and_creates_a_table(tmp_path: Path) -> None:
    examples = examples_of(PAGE)
    [commands] = [one for one in examples if one.language == "sh"]
    [shown] = [one for one in examples if one.language == "text"]
    with Commands(examples, tmp_path) as running:
        said = running.run(commands.text)
    assert shown.text in said
    [(service, operation, table), (_, ttl, _)] = read_cloudformation(
        (tmp_path / "orders.yaml").read_text(encoding="utf-8")
    )
    assert (service, operation, ttl) == ("dynamodb", "create_table", "update_time_to_live")
    assert table["TableName"] == "Orders"


def test_the_example_of_costs_prints_what_the_page_shows() -> None:
    [shown] = [one.text for one in examples_of(PAGE) if one.text.startswith("$ hashrange capacity ")]
    command, _, rows = shown.partition("\n")
    printed = io.StringIO()
    with redirect_stdout(printed):
        assert main(shlex.split(command.removeprefix("$ hashrange "))) == DONE
    assert printed.getvalue().startswith(rows)


def test_the_example_of_prices_can_be_used(tmp_path: Path) -> None:
    [prices] = [one.text for one in examples_of(PAGE) if one.language == "toml"]
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
