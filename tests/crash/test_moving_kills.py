"""Commands that move items are killed at seeded moments and go on with `--resume`: no item is lost, none is doubled."""

import gzip
import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from hashrange.settings import Settings
from hashrange.testing import server
from hashrange.toolkit.plain_items import typed_item
from tests.crash.harness import context
from tests.crash.mover import move_until_killed
from tests.support.seeds import seeds

context.set_forkserver_preload(["tests.crash.writer", "tests.crash.mover"])
KEYS = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
VARIABLES = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
ITEMS = [{"id": {"S": f"item {number}"}, "text": {"S": str(number) * 80_000}} for number in range(10, 50)]
"""They fill some pages of each segment."""
STEPS_MAX = 30
Item = dict[str, Any]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with server(Settings(data_dir=None, port=0)) as database:
        made: Any = boto3.client("dynamodb", endpoint_url=database.endpoint, **KEYS)
        create(made, "Source")
        put(made, "Source", ITEMS)
        yield made
        made.close()


def create(client: Any, name: str) -> None:
    client.create_table(
        TableName=name,
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )


def put(client: Any, name: str, items: list[Item]) -> None:
    for start in range(0, len(items), 25):
        puts = [{"PutRequest": {"Item": item}} for item in items[start : start + 25]]
        client.batch_write_item(RequestItems={name: puts})


def scanned(client: Any, name: str) -> list[Item]:
    pages = client.get_paginator("scan").paginate(TableName=name)
    return by_key([item for page in pages for item in page["Items"]])


def by_key(items: list[Item]) -> list[Item]:
    return sorted(items, key=lambda item: str(item["id"]["S"]))


def run_with_kills(
    client: Any, chance: random.Random, words: list[str], is_begun: Callable[[], bool], steps_max: int = STEPS_MAX
) -> int:
    """Run a command, kill it, and go on, until it ends by itself; returns how often it was killed."""
    kills = 0
    while True:
        resume = ["--resume"] if is_begun() else []
        code = run_once(client, [*words, *resume], chance.randrange(1, steps_max))
        if code is not None:
            assert code == 0
            return kills
        kills += 1


def run_once(client: Any, words: list[str], moment: int) -> int | None:
    """Run a command that kills itself at a step; its exit code, or None if it was killed."""
    here, there = context.Pipe(duplex=False)
    words = [*words, "--endpoint", client.meta.endpoint_url]
    process = context.Process(target=move_until_killed, args=(words, moment, VARIABLES, there))
    process.start()
    there.close()
    try:
        return int(here.recv_bytes())
    except EOFError:
        return None
    finally:
        process.join()
        here.close()


@pytest.mark.parametrize("seed", seeds(1, 100))
@pytest.mark.parametrize("name", ["items.json", "items.jsonl.gz", "items.csv"])
def test_a_scan_loses_and_doubles_nothing(client: Any, tmp_path: Path, name: str, seed: int) -> None:
    path, kept = tmp_path / name, tmp_path / f"{name}.scan-progress"
    words = ["scan", "--table", "Source", "--segments", "3", "--output", str(path)]
    kills = run_with_kills(client, random.Random(f"{name} {seed}"), words, kept.exists)
    assert kills
    content = path.read_bytes()
    if name == "items.csv":
        header, *rows = content.decode().splitlines()
        assert header == "id,text"
        assert sorted(rows) == sorted(f"{item['id']['S']},{item['text']['S']}" for item in ITEMS)
    else:
        found = (
            json.loads(content)
            if name == "items.json"
            else [json.loads(line) for line in gzip.decompress(content).splitlines()]
        )
        assert by_key(list(map(typed_item, found))) == by_key(ITEMS)
    assert not kept.exists()


@pytest.mark.parametrize("seed", seeds(2, 100))
def test_a_load_loses_and_doubles_nothing(client: Any, tmp_path: Path, seed: int) -> None:
    create(client, f"Loaded{seed}")
    items = [{"id": {"S": str(number)}} for number in range(2500)]
    path = tmp_path / "items.jsonl"
    path.write_text("".join(json.dumps({"Item": item}) + "\n" for item in items), encoding="utf-8")
    words = ["load", str(path), "--table", f"Loaded{seed}"]
    kept = Path(f"{path}.load-progress")
    assert run_with_kills(client, random.Random(seed), words, kept.exists, steps_max=200)
    assert scanned(client, f"Loaded{seed}") == by_key(items)
    assert not kept.exists()


@pytest.mark.parametrize("seed", seeds(1, 100))
def test_a_copy_loses_and_doubles_nothing(client: Any, tmp_path: Path, seed: int) -> None:
    create(client, f"Copy{seed}")
    kept = tmp_path / "kept"
    words = ["copy", "--table", "Source", "--to-table", f"Copy{seed}", "--progress", str(kept)]
    words += ["--to-endpoint", client.meta.endpoint_url]
    assert run_with_kills(client, random.Random(seed), words, kept.exists)
    assert scanned(client, f"Copy{seed}") == by_key(ITEMS)


@pytest.mark.parametrize("seed", seeds(1, 100))
def test_a_copy_that_follows_loses_no_change(client: Any, tmp_path: Path, seed: int) -> None:
    chance, kept, names = random.Random(seed), tmp_path / "kept", [f"Followed{seed}", f"Following{seed}"]
    for name in names:
        create(client, name)
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    client.update_table(TableName=names[0], StreamSpecification=stream)
    words = ["copy", "--table", names[0], "--to-table", names[1], "--follow", "--progress", str(kept)]
    words += ["--to-endpoint", client.meta.endpoint_url]
    kills = 0
    while kills < 4 or not kept.exists():
        change(client, names[0], chance)
        assert run_once(client, [*words, *(["--resume"] if kept.exists() else [])], chance.randrange(1, 60)) is None
        kills += 1
    change(client, names[0], chance)
    client.update_table(TableName=names[0], StreamSpecification={"StreamEnabled": False})
    assert run_once(client, [*words, "--resume"], 0) == 0
    assert scanned(client, names[1]) == scanned(client, names[0])
    assert not kept.exists()


def change(client: Any, name: str, chance: random.Random) -> None:
    """Put and delete items, some of them several times."""
    for _ in range(30):
        item = {"id": {"S": str(chance.randrange(20))}, "text": {"S": str(chance.random())}}
        if chance.random() < 0.3:
            client.delete_item(TableName=name, Key={"id": item["id"]})
        else:
            client.put_item(TableName=name, Item=item)
