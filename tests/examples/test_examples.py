"""The examples of docs/examples, run as a user runs them: killed repeatedly while shards split;
their results stay exact.
"""

import json
import os
import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.clients.serving import ServerProcess
from tests.support.waiting import wait_until

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
OTHER_REGION = "eu-west-1"
ROUNDS = 2
WRITES = 80
"""Number of writes in each round: orders of some 60 bytes, in partitions of 2 KB."""

Orders = dict[str, dict[str, Any]]
Images = list[tuple[str, dict[str, Any] | None, dict[str, Any] | None]]


class World:
    """A server, its table Orders, and the writes of a test."""

    def __init__(self, endpoint: str) -> None:
        self.environment = {
            **os.environ,
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "any",
            "AWS_SECRET_ACCESS_KEY": "any",
        }
        self._endpoint = endpoint
        self.here = self.client("dynamodb", "us-east-1")
        self.random = random.Random(7)
        self.orders: Orders = {}
        self.changes: dict[str, Images] = defaultdict(list)
        made = self.here.create_table(
            TableName="Orders",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        )
        self.arn = made["TableDescription"]["LatestStreamArn"]

    def client(self, service: str, region: str) -> Any:
        keys = {"aws_access_key_id": "any", "aws_secret_access_key": "any"}
        return boto3.client(service, endpoint_url=self._endpoint, region_name=region, **keys)

    def write(self) -> None:
        """Put, change and delete orders at random."""
        for _ in range(WRITES):
            key = f"order-{self.random.randrange(60)}"
            before = self.orders.get(key)
            if before is not None and self.random.random() < 0.2:
                self.here.delete_item(TableName="Orders", Key={"id": {"S": key}})
                del self.orders[key]
                self.changes[key].append(("REMOVE", before, None))
                continue
            order = {
                "id": {"S": key},
                "customer": {"S": f"customer-{self.random.randrange(5)}"},
                "amount": {"N": f"{self.random.randrange(1, 9999)}.{self.random.randrange(1, 10)}"},
                "note": {"S": "x" * 60},
            }
            self.here.put_item(TableName="Orders", Item=order)
            self.orders[key] = order
            if order != before:
                self.changes[key].append(("INSERT" if before is None else "MODIFY", before, order))

    def shard_count(self) -> int:
        described = self.client("dynamodbstreams", "us-east-1").describe_stream(StreamArn=self.arn)
        return len(described["StreamDescription"]["Shards"])

    def start(self, example: str, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(EXAMPLES / example), *words],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run_and_kill(self, example: str, region: str) -> None:
        """Run an example and kill it at a random moment, after its first result."""
        client = self.client("dynamodb", region)
        before = checkpoints(client)
        process = self.start(example)
        try:
            wait_until(lambda: process.poll() is not None or checkpoints(client) != before)
        finally:
            process.kill()
            _, errors = process.communicate()
        assert not errors


def checkpoints(client: Any) -> dict[str, str]:
    """Checkpoints of the running reader, by shard."""
    try:
        items = client.scan(TableName="StreamCheckpoints", ConsistentRead=True)["Items"]
    except client.exceptions.ResourceNotFoundException:
        return {}
    return {item["shard"]["S"]: item["read_until"]["S"] for item in items}


@pytest.fixture
def world() -> Iterator[World]:
    """A server whose partitions split early."""
    server = ServerProcess(None, "--partition-size", "2048")
    yield World(server.endpoint)
    server.stop()


def all_items(client: Any, table: str) -> list[dict[str, Any]]:
    return [item for page in client.get_paginator("scan").paginate(TableName=table) for item in page["Items"]]


def check_totals(world: World) -> None:
    expected: dict[str, tuple[int, Decimal]] = {}
    for order in world.orders.values():
        customer = order["customer"]["S"]
        orders, amount = expected.get(customer, (0, Decimal(0)))
        expected[customer] = orders + 1, amount + Decimal(order["amount"]["N"])
    found = {
        item["customer"]["S"]: (int(item["orders"]["N"]), Decimal(item["amount"]["N"]))
        for item in all_items(world.here, "OrderTotals")
    }
    assert {customer: total for customer, total in found.items() if any(total)} == expected


def check_audit(world: World) -> None:
    found: dict[str, Images] = defaultdict(list)
    for item in sorted(all_items(world.here, "OrdersAudit"), key=lambda item: item["sequence"]["S"]):
        assert item["by"] == {"S": "client"}
        images = (item[name]["M"] if name in item else None for name in ("old", "new"))
        old, new = images
        found[json.loads(item["item"]["S"])["id"]["S"]].append((item["event"]["S"], old, new))
    assert found == world.changes


def check_copy(world: World) -> None:
    there = world.client("dynamodb", OTHER_REGION)
    assert {item["id"]["S"]: item for item in all_items(there, "Orders")} == world.orders


@pytest.mark.parametrize(
    ("example", "region", "check"),
    [
        ("order_totals.py", "us-east-1", check_totals),
        ("audit_log.py", "us-east-1", check_audit),
        ("region_copy.py", OTHER_REGION, check_copy),
    ],
)
def test_what_an_example_keeps_is_exact(
    example: str, region: str, check: Callable[[World], None], world: World
) -> None:
    for _ in range(ROUNDS):
        world.write()
        world.run_and_kill(example, region)
    world.write()
    assert world.shard_count() > 3, "no partition was split"
    last = world.start(example, "--once")
    said, errors = last.communicate(timeout=120)
    assert (last.returncode, errors) == (0, "")
    check(world)
    handled, total = int(said.split()[0]), sum(map(len, world.changes.values()))
    assert 0 < handled < total, "it went on where it was"
    again, errors = world.start(example, "--once").communicate(timeout=120)
    assert (again, errors) == ("0 changes\n", "")


def test_the_first_query_can_be_made_again(tmp_path: Path) -> None:
    server = ServerProcess()
    program = (EXAMPLES.parent / "first_query.py").read_text().replace("http://localhost:8000", server.endpoint)
    (tmp_path / "first_query.py").write_text(program)
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "first_query.py"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.stderr == ""
        assert done.stdout == "[{'name': 'Ada', 'pk': 'user-1', 'visits': Decimal('2')}]\n"
    server.stop()


def test_a_day_of_auto_scaling(tmp_path: Path) -> None:
    drawing = tmp_path / "day.svg"
    said = run_day(EXAMPLES / "scaling_day.py", tmp_path, str(drawing))
    assert said.count("Successful: Setting read capacity units") >= 5
    assert said.splitlines()[-1].startswith("The day is drawn in ")
    assert list(tmp_path.iterdir()) == [drawing]
    assert drawing.read_text() == (EXAMPLES.parent / "scaling-day.svg").read_text()


def test_an_hour_that_is_not_drawn(tmp_path: Path) -> None:
    program = (EXAMPLES / "scaling_day.py").read_text()
    assert "DAY_MINUTES = 24 * 60\n" in program
    short = tmp_path / "scaling_hour.py"
    short.write_text(program.replace("DAY_MINUTES = 24 * 60\n", "DAY_MINUTES = 60\n"))
    assert run_day(short, tmp_path).splitlines()[-1].startswith("With the path of an SVG file ")
    assert list(tmp_path.iterdir()) == [short]


def run_day(program: Path, folder: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, str(program), *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout
