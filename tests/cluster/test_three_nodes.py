"""Two servers over three nodes of Apache Cassandra, of which one node is killed while clients write, and then a server:
what was acknowledged is there, once, and nothing else is.
"""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, HTTPClientError

from hashrange.local_cluster.cluster import LocalCluster, local_cluster

pytestmark = pytest.mark.needs("java", "mvn")
COUNTERS = 12
ACCOUNTS = 6
BALANCE = 100
TABLE = "counters"
CLIENTS = 4
STEPS = 10


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Three nodes and two servers."""
    with local_cluster(3, 2) as made:
        yield made


def client_of(url: str) -> Any:
    """A client that repeats nothing by itself."""
    config = Config(retries={"total_max_attempts": 1}, read_timeout=30)
    return boto3.client(
        "dynamodb", endpoint_url=url, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b",
        config=config,
    )  # fmt: skip


class Doings:
    """What clients have done, and what they do not know of."""

    def __init__(self) -> None:
        self.added = [0] * COUNTERS
        self.unknown = [0] * COUNTERS
        self.refused = 0

    def add(self, client: Any, number: int) -> None:
        """Add one to a counter, once."""
        try:
            client.update_item(
                TableName=TABLE,
                Key={"pk": {"S": f"counter-{number}"}},
                UpdateExpression="ADD n :one",
                ExpressionAttributeValues={":one": {"N": "1"}},
            )
            self.added[number] += 1
        except (ClientError, HTTPClientError):
            self.unknown[number] += 1

    def transfer(self, client: Any, chance: random.Random) -> None:
        """Move an amount from one account to another, if there is enough."""
        one, other = chance.sample(range(ACCOUNTS), 2)
        amount = {":a": {"N": str(chance.randint(1, 40))}}

        def update(number: int, expression: str, **members: Any) -> dict[str, Any]:
            key = {"pk": {"S": f"account-{number}"}}
            values = {"ExpressionAttributeValues": amount}
            return {"Update": {"TableName": TABLE, "Key": key, "UpdateExpression": expression, **values, **members}}

        try:
            client.transact_write_items(
                TransactItems=[
                    update(one, "SET b = b - :a", ConditionExpression="b >= :a"),
                    update(other, "SET b = b + :a"),
                ]
            )
        except (ClientError, HTTPClientError):
            self.refused += 1


def numbers_of(client: Any, name: str, count: int, attribute: str) -> list[int]:
    """A number of each item, read strongly, in one transaction."""
    gets = [{"Get": {"TableName": TABLE, "Key": {"pk": {"S": f"{name}-{one}"}}}} for one in range(count)]
    while True:
        try:
            replies = client.transact_get_items(TransactItems=gets)["Responses"]
        except client.exceptions.TransactionCanceledException:
            continue  # what a killed server has left is finished by then
        return [int(one["Item"][attribute]["N"]) for one in replies]


def test_what_is_acknowledged_is_there_once(cluster: LocalCluster) -> None:
    urls = cluster.server_urls
    clients = [client_of(urls[number % len(urls)]) for number in range(CLIENTS)]
    clients[0].create_table(
        TableName=TABLE,
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    for number in range(ACCOUNTS):
        item = {"pk": {"S": f"account-{number}"}, "b": {"N": str(BALANCE)}}
        clients[1].put_item(TableName=TABLE, Item=item)
    for number in range(COUNTERS):
        clients[0].put_item(TableName=TABLE, Item={"pk": {"S": f"counter-{number}"}, "n": {"N": "0"}})
    doings, half_done = Doings(), Event()

    def work(number: int) -> None:
        chance = random.Random(number)
        for step in range(STEPS):
            if number == 0 and step == STEPS // 3:
                half_done.set()
            if chance.random() < 0.3:
                doings.transfer(clients[number], chance)
            else:
                doings.add(clients[number], chance.randrange(COUNTERS))

    with ThreadPoolExecutor(CLIENTS) as pool:
        working = [pool.submit(work, number) for number in range(CLIENTS)]
        half_done.wait()
        cluster.kill("2")
        for one in working:
            one.result()
    cluster.kill("s2")
    clients[1].close()
    counted = numbers_of(clients[0], "counter", COUNTERS, "n")
    assert sum(doings.added) > CLIENTS * STEPS // 2
    for number in range(COUNTERS):
        assert doings.added[number] <= counted[number] <= doings.added[number] + doings.unknown[number]
    assert sum(numbers_of(clients[0], "account", ACCOUNTS, "b")) == ACCOUNTS * BALANCE
