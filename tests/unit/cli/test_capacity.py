"""`hashrange capacity` at the prompt: what it measures, draws and refuses. (What it computes: tests/scripts.)"""

import json
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from hashrange.cli.main import DONE, FAILED, WRONG_USE, main
from hashrange.settings import Settings
from hashrange.testing import Database, server

pytestmark = pytest.mark.usefixtures("no_variables")

Printed = pytest.CaptureFixture[str]
LOAD = ["--item-size", "2.5", "--reads", "500", "--writes", "200"]
HOURS = 4
KEYS = {"aws_access_key_id": "hashrange", "aws_secret_access_key": "hashrange", "region_name": "us-east-1"}


@pytest.fixture
def past() -> Iterator[Database]:
    """A database whose time is some hours behind the machine's."""
    with server(Settings(data_dir=None, port=0, clock_behind_seconds=HOURS * 3600)) as database:
        yield database


def create(database: Database, **members: Any) -> Any:
    """Create the table Orders; returns a client."""
    client = boto3.client("dynamodb", endpoint_url=database.endpoint, **KEYS)
    client.create_table(
        TableName="Orders",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "by")],
        BillingMode="PAY_PER_REQUEST",
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by-x",
                "KeySchema": [{"AttributeName": "by", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
        **members,
    )
    return client


def item(number: int, size_bytes: int) -> dict[str, Any]:
    """An item of this size; those of even numbers have an entry in the index."""
    made: dict[str, Any] = {"pk": {"S": f"{number:04}"}}
    if number % 2 == 0:
        made["by"] = {"S": "x"}
    used = sum(len(name) + len(value["S"]) for name, value in made.items())
    return made | {"b": {"B": bytes(size_bytes - used - 1)}}


def report_of(words: list[str], capsys: Printed) -> tuple[dict[str, Any], str]:
    """What is printed as JSON, and what on standard error."""
    assert main(["capacity", *words, "--output", "json"]) == DONE
    printed = capsys.readouterr()
    return json.loads(printed.out), printed.err


def test_units_of_a_table_are_those_of_cloudwatch(past: Database, capsys: Printed) -> None:
    client = create(past)
    past.clock.advance(3600)
    for number in range(60):
        client.put_item(TableName="Orders", Item=item(number, 2500))
    past.clock.advance(600)
    client.put_item(TableName="Orders", Item=item(60, 2500))
    past.clock.advance((HOURS - 1) * 3600 - 600)
    report, told = report_of(["--from-table", "Orders", "--endpoint", past.endpoint], capsys)
    table, index = report["units"]
    assert table["where"] == "table"
    assert table["read_units"] == 0, "the sample's own reads are not counted"
    assert table["write_units"] == pytest.approx(61 * 3 / (HOURS * 3600), abs=0.001)
    assert (table["wcu"], table["rcu"]) == (3, 1)
    assert index["where"] == "by-x"
    assert index["write_units"] == pytest.approx(31 / (HOURS * 3600), abs=0.001)
    assert report["recommendation"]["mode"] == "on demand"
    assert "Orders is on demand. A sample of 61 items, which has taken" in told
    assert "has 2,500 bytes an item." in told


def test_sizes_of_a_table_are_those_of_its_items(past: Database, capsys: Printed) -> None:
    client = create(past, TableClass="STANDARD_INFREQUENT_ACCESS")
    for number, size_bytes in enumerate([1024, 1025, 4096, 4097]):
        client.put_item(TableName="Orders", Item=item(number, size_bytes))
    words = ["--from-table", "Orders", "--endpoint", past.endpoint, "--reads", "100", "--writes", "100"]
    report, _ = report_of(words, capsys)
    table, index = report["units"]
    assert table == {"where": "table", "read_units": 62.5, "write_units": 300.0, "rcu": 63, "wcu": 300}
    assert index == {"where": "by-x", "read_units": 0.0, "write_units": 50.0, "rcu": 1, "wcu": 50}
    assert "reserved, 1 year" not in {cost["mode"] for cost in report["costs"]}


def test_an_empty_table_can_be_measured(past: Database, capsys: Printed) -> None:
    create(past)
    words = ["--from-table", "Orders", "--endpoint", past.endpoint, "--reads", "2", "--writes", "1"]
    report, _ = report_of(words, capsys)
    assert [one["wcu"] for one in report["units"]] == [1, 1]


def test_a_sample_ends(past: Database, capsys: Printed) -> None:
    client = create(past)
    for number in range(50):
        client.put_item(TableName="Orders", Item=item(number, 100))
    words = ["--from-table", "Orders", "--endpoint", past.endpoint, "--reads", "1", "--writes", "1", "--sample", "7"]
    _, told = report_of(words, capsys)
    assert "A sample of 7 items" in told


def test_without_cloudwatch_rates_are_asked_for(capsys: Printed) -> None:
    with server(Settings(data_dir=None, port=0, metrics="off")) as database:
        create(database)
        assert main(["capacity", "--from-table", "Orders", "--endpoint", database.endpoint]) == FAILED
    assert capsys.readouterr().err.endswith(" Or give --reads and --writes.\n")


def test_what_is_asked_only_loads_no_library_of_extras() -> None:
    program = (
        "import sys; from hashrange.cli.main import main; code = main(sys.argv[1:])"
        "; print(sorted({'boto3', 'matplotlib'} & sys.modules.keys())); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "capacity", *LOAD, "--plot", "-"], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[2].split() == ["table", "250.0", "600.0", "250", "600"]
    assert done.stdout.splitlines()[-1] == "[]"


def test_costs_by_load_are_drawn_in_the_terminal(monkeypatch: pytest.MonkeyPatch, capsys: Printed) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["capacity", *LOAD, "--peak-to-average", "4", "--prices", "2024-10", "--plot", "-"]) == DONE
    printed = capsys.readouterr().out.splitlines()
    title = printed.index("Monthly cost in USD by load (prices of us-east-1 2024-10)")
    picture, legend = printed[title + 1 : title + 24], printed[title + 24 :]
    assert max(map(len, picture)) <= 60
    without_load = "".join(line[picture[0].index("|") + 1 :][:1] for line in picture[:21])
    assert without_load.replace(" ", "") == "p3d", "without load, only units cost something; d is at zero"
    assert without_load.endswith("d")
    assert picture[0].endswith("d"), "on demand, all units cost most"
    assert sum(":" in line for line in picture) > 10
    assert "  :  average load, in % of the units that the peak needs: 25.0 now" in legend
    assert [line.split()[0] for line in legend[1:]] == ["p", "a", "1", "3", "d"]


def test_costs_by_load_are_drawn_into_a_file(tmp_path: Path, capsys: Printed) -> None:
    path = tmp_path / "costs.png"
    assert main(["capacity", *LOAD, "--plot", str(path), "--output", "json"]) == DONE
    content = path.read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", content[16:24]) == (1080, 600)
    printed = capsys.readouterr()
    assert json.loads(printed.out)["costs"]
    assert printed.err == f"The plot is in {path}.\n"
    assert main(["capacity", *LOAD, "--plot", str(path)]) == WRONG_USE
    assert capsys.readouterr() == ("", f"hashrange: the file {path} exists already. Name another one.\n")


def test_without_matplotlib_a_picture_is_drawn_here_only(monkeypatch: pytest.MonkeyPatch, capsys: Printed) -> None:
    monkeypatch.setattr("hashrange.toolkit.chart_file.find_spec", lambda name: None)
    assert main(["capacity", *LOAD, "--plot", "costs.png"]) == FAILED
    assert "a PNG is drawn by matplotlib, which is not installed. Install it: pip" in capsys.readouterr().err
    assert main(["capacity", *LOAD, "--plot", "-"]) == DONE


PRICES = """
date = "2031-05"
unconfirmed = ["standard.million_writes"]

[regions.eu-west-9.standard]
read_unit_hour = 1
write_unit_hour = 2
replicated_write_unit_hour = 3
million_reads = 4
million_writes = 5
million_replicated_writes = 6
storage_gb_month = 7
"""


def test_a_file_replaces_the_prices(tmp_path: Path, capsys: Printed) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(PRICES, encoding="utf-8")
    words = ["--prices", str(path), "--price-region", "eu-west-9", "--hours", "1", "--storage", "1"]
    report, _ = report_of([*LOAD, *words], capsys)
    shown = {cost["mode"]: (cost["total_usd"], cost["prices"], cost["unconfirmed"]) for cost in report["costs"]}
    assert shown == {
        "provisioned": (250 + 1200 + 7, "2031-05", False),
        "auto scaling": (358 + 2 * 858 + 7, "2031-05", False),
        "on demand": (3.6 + 10.8 + 7, "2031-05", True),
    }


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("date date", "it is no TOML at line 1, column 6"),
        (PRICES.replace("read_unit_hour = 1", ""), "standard of eu-west-9 of regions"),
        (PRICES.replace("= 7", "= -7"), "storage_gb_month of standard"),
        (PRICES.replace("= 7", "= 7\nmore = 1"), "more"),
    ],
)
def test_what_is_wrong_with_a_price_table_is_told(text: str, sentence: str, tmp_path: Path, capsys: Printed) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(text, encoding="utf-8")
    assert main(["capacity", *LOAD, "--prices", str(path)]) == WRONG_USE
    error = capsys.readouterr().err
    assert error.startswith(f"hashrange: the price table {path} cannot be used: ")
    assert sentence in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "the calculation needs --item-size and --reads and --writes, or --from-table NAME."),
        (["--item-size", "1"], "the calculation needs --reads and --writes, or --from-table NAME."),
        ([*LOAD, "--item-size", "401"], '--item-size is "401"; it must be a number from 0 to 400.'),
        ([*LOAD, "--item-size", "nan"], '--item-size is "nan"; it must be a number from 0 to 400.'),
        ([*LOAD, "--reads", "many"], '--reads is "many"; it must be a number of at least 0.'),
        ([*LOAD, "--reads", "inf"], '--reads is "inf"; it must be a number of at least 0.'),
        ([*LOAD, "--gsi-count", "1.5"], '--gsi-count is "1.5"; it must be a whole number from 0 to 20.'),
        ([*LOAD, "--gsi-count", "2", "--gsi-share", "1,2,3"], "--gsi-share has 3 numbers, and --gsi-count is 2."),
        ([*LOAD, "--consistency", "weak"], '--consistency is "weak"; it must be eventual, strong or transactional.'),
        ([*LOAD, "--table-class", "x"], '--table-class is "x"; it must be standard or infrequent-access.'),
        ([*LOAD, "--peak-to-average", "0.5"], '--peak-to-average is "0.5"; it must be a number from 1 to 1,000,000.'),
        ([*LOAD, "--output", "yaml"], '--output is "yaml"; it must be table, json or csv.'),
        ([*LOAD, "--prices", "2023-01"], '--prices is "2023-01", which is no file that can be read (No such file or'),
        ([*LOAD, "--region", "eu-west-9"], "the prices of 2026-11 are those of us-east-1. Name one with --price-reg"),
        ([*LOAD, "--extra", "backup"], '--extra is "backup"; it must be a name and a number, such as backup=50.'),
        ([*LOAD, "--extra", "x=1"], "the prices of 2026-11 know no extra x. They know point-in-time-recovery, backup,"),
        ([*LOAD, "--dax-hits", "50", "--dax-node-type", "x"], "the prices of 2026-11 know no DAX node x. They know "),
        (
            [*LOAD, "--plot", "costs.svg"],
            '--plot is "costs.svg"; it must be a file that ends with .png, or - for a pic',
        ),
        ([*LOAD, "--plot", "no/where.png"], "the file no/where.png cannot be written: No such file or directory. Name"),
        ([*LOAD, "--plot", "-", "--output", "csv"], "--plot - draws beside a table; leave out --output csv, or name"),
        (["--item-size", "1", "--reads", "0", "--writes", "0", "--plot", "-"], "there is no load, so no cost depends"),
        (["--from-table", "T", "--consistency", "weak"], '--consistency is "weak"; it must be eventual, strong or tr'),
        (["--from-table", "T", "--storage", "1"], "--from-table measures what --storage says; leave out --storage."),
        (["--from-table", "T", "--gsi-reads", "1"], "--from-table measures what --gsi-reads says; leave out"),
        (["--from-table", "T", "--peak-to-average", "2"], "--peak-to-average needs --reads and --writes; without"),
        (["--from-table", "T", "--reads", "1"], "--reads and --writes belong together; without both, units are those"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(words: list[str], sentence: str, capsys: Printed) -> None:
    assert main(["capacity", *words]) == WRONG_USE
    error = capsys.readouterr().err
    assert error.startswith(f"hashrange: {sentence}")
    assert error.count("\n") == 1
