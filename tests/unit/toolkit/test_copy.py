"""`hashrange copy` between servers: all items arrive, later changes follow, and an interrupted copy is gone on with."""

import signal
from pathlib import Path
from typing import Any

import pytest

from hashrange.cli.main import DONE, FAILED, WRONG_USE
from hashrange.settings import Settings
from hashrange.testing import server
from tests.support.waiting import wait_until
from tests.unit.toolkit.moved_tables import Tables, as_sent, key_of, random_items, simple_items

ITEMS = random_items(3, 120)
PLAIN = simple_items(40)
STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}


@pytest.fixture
def source(endpoint: str, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> Tables:
    monkeypatch.chdir(tmp_path)
    return Tables(endpoint, tmp_path, capsys)


@pytest.fixture(scope="module")
def other_endpoint() -> Any:
    with server(Settings(data_dir=None, port=0)) as database:
        yield database.endpoint


@pytest.fixture
def target(other_endpoint: str, tmp_path: Path) -> Tables:
    return Tables(other_endpoint, tmp_path, None)


def new_name(tables: Tables) -> str:
    return f"Table{len(tables.client.list_tables()['TableNames'])}"


def test_all_items_arrive_at_another_endpoint(source: Tables, target: Tables) -> None:
    name = new_name(source)
    source.make(name)
    source.fill(name, ITEMS)
    target.make(name)
    assert source.run("copy", "--table", name, "--to-endpoint", target.endpoint) == DONE
    assert as_sent(target.items(name)) == as_sent(source.items(name))
    first, last = source.told.splitlines()
    assert first.startswith(f"Copy {name} of us-east-1 at {source.endpoint} into the table {name}: account 0000000")
    assert first.endswith(f"endpoint {target.endpoint}.")
    assert last.startswith(f"120 items in the table {name}, ")
    assert not list(source.folder.iterdir())


def test_another_table_of_the_same_endpoint(source: Tables) -> None:
    name = new_name(source)
    source.make(name)
    source.make("Copied")
    source.fill(name, PLAIN)
    extra = [{"id": {"S": "extra"}, "at": {"N": "1"}}]
    source.fill("Copied", [PLAIN[0] | {"text": {"S": "older"}}, *extra])
    words = ["copy", "--table", name, "--to-table", "Copied", "--to-endpoint", source.endpoint, "--consistent"]
    assert source.run(*words, "--segments", "7", "--rate-limit", "1000") == DONE
    assert source.items("Copied") == sorted([*PLAIN, *extra], key=key_of)


def test_what_cannot_be_copied_is_told(source: Tables, target: Tables) -> None:
    name = new_name(source)
    source.make(name)
    target.client.create_table(
        TableName=name,
        AttributeDefinitions=[{"AttributeName": one, "AttributeType": "S"} for one in ("id", "text")]
        + [{"AttributeName": "at", "AttributeType": "N"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by-text",
                "KeySchema": [{"AttributeName": "text", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    source.fill(name, [*PLAIN[:5], PLAIN[5] | {"text": {"N": "5"}}])
    assert source.run("copy", "--table", name, "--to-endpoint", target.endpoint) == FAILED
    assert target.items(name) == PLAIN[:5]
    assert '"text":{"N":"5"}' in source.told
    assert "Type mismatch for Index Key text" in source.told
    assert source.told.splitlines()[-1] == "1 item could not be copied."


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--to-endpoint", "{source}"], "the table Plain would be copied into itself. Name another one with"),
        (["--to-endpoint", "x"], '--to-endpoint is "x"; it must be a URL without a path'),
        (["--to-endpoint", "https://dynamodb.eu-west-1.amazonaws.com"], "Say so with --to-aws, or name a profile"),
        (["--to-endpoint", "{target}", "--follow"], "--follow needs a stream of Plain with new images, but it has no"),
        (["--to-endpoint", "{target}", "--resume"], "there is nothing to go on with: there is no Plain.copy-progress."),
        (["--to-endpoint", "{target}", "--to-table", "Other"], "have different keys: id (S) and at (N) in the"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_in_a_sentence(source: Tables, target: Tables, words: list[str], sentence: str) -> None:
    for tables in (source, target):
        if "Plain" not in tables.client.list_tables()["TableNames"]:
            tables.make("Plain")
            tables.client.create_table(
                TableName="Other",
                AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "N"}],
                KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                BillingMode="PAY_PER_REQUEST",
            )
    given = [word.format(source=source.endpoint, target=target.endpoint) for word in words]
    assert source.run("copy", "--table", "Plain", *given) == WRONG_USE
    assert sentence in source.told
    assert source.told.count("\n") == 1


def test_changes_follow_until_the_command_is_told_to_end(source: Tables, target: Tables) -> None:
    name = new_name(source)
    source.make(name, StreamSpecification=STREAM)
    source.fill(name, PLAIN)
    target.make(name)
    words = ["copy", "--table", name, "--to-endpoint", target.endpoint, "--follow"]
    for end in (signal.SIGKILL, signal.SIGINT):
        resume = ["--resume"] if end == signal.SIGINT else []
        process = source.start(*words, *resume)
        assert process.stderr is not None
        said = b""
        while b"Following changes; Ctrl-C ends it." not in said:
            line = process.stderr.readline()
            said += line
            assert line, said.decode()
        change(source, name)
        wait_until(lambda: target.items(name) == source.items(name))
        process.send_signal(end)
        told = process.communicate()[1].decode()
        change(source, name)  # while nobody follows
    assert process.returncode == DONE
    assert "copied so far. The same command with --resume goes on." in told
    assert target.items(name) != source.items(name)


def change(tables: Tables, name: str) -> None:
    """Put, replace and delete items, some of them twice."""
    number = len(tables.items(name))
    new = {"id": {"S": f"new {number}"}, "at": {"N": "1"}}
    for text in ("a", "b"):
        tables.fill(name, [new | {"text": {"S": text}}, tables.items(name)[3] | {"text": {"S": text}}])
    for item in tables.items(name)[:2]:
        tables.client.delete_item(TableName=name, Key={key: item[key] for key in ("id", "at")})
    tables.fill(name, tables.items(name)[5:8])


def test_a_stream_that_is_switched_off_ends_the_copy(source: Tables, target: Tables) -> None:
    name = new_name(source)
    source.make(name, StreamSpecification=STREAM)
    source.fill(name, PLAIN)
    target.make(name)
    process = source.start("copy", "--table", name, "--to-endpoint", target.endpoint, "--follow")
    assert process.stderr is not None
    while b"Following changes" not in process.stderr.readline():
        pass
    source.client.update_table(TableName=name, StreamSpecification={"StreamEnabled": False})
    told = process.communicate()[1].decode()
    assert process.returncode == DONE
    assert "40 items in the table" in told
    assert target.items(name) == PLAIN
