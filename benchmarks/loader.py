"""How does a table get its items? Signed writes over several keep-alive connections, by BatchWriteItem where it exists.

A server that pipelines gets several requests per connection at once; others one at a time.
"""

import json
import time
from collections.abc import Callable, Iterator
from itertools import islice

from benchmarks.client import Client, Connection, ReplyError
from benchmarks.items import ItemMaker
from benchmarks.signing import Signer
from benchmarks.workloads import Plan

CONNECTIONS = 16
PIPELINED = 8
ITEMS_PER_BATCH = 25
SIGNER_SECONDS_MAX = 300
"""Long loads sign with a fresh date now and then."""


def create_table(client: Client, plan: Plan) -> None:
    """Make the table of all workloads and wait until it is active."""
    client.call(
        "CreateTable",
        {
            "TableName": plan.table,
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            "AttributeDefinitions": [
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "S"},
            ],
            "BillingMode": "PAY_PER_REQUEST",
        },
    )
    for _ in range(500):
        if client.call("DescribeTable", {"TableName": plan.table})["Table"]["TableStatus"] == "ACTIVE":
            return
        time.sleep(0.02)
    raise ReplyError("the table does not become ACTIVE")


def has_batches(client: Client, plan: Plan) -> bool:
    """Does the server know BatchWriteItem? Tried with a deletion of nothing."""
    key = {"pk": {"S": "nobody"}, "sk": {"S": "nothing"}}
    try:
        client.call("BatchWriteItem", {"RequestItems": {plan.table: [{"DeleteRequest": {"Key": key}}]}})
    except ReplyError:
        return False
    return True


def load_items(
    client: Client,
    plan: Plan,
    maker: ItemMaker,
    numbers: range,
    *,
    pipelines: bool,
    on_progress: Callable[[int], None] = lambda _: None,
) -> None:
    """Write the items at places `numbers`; raises ReplyError when one is refused."""
    bodies = batch_bodies(plan, maker, numbers) if has_batches(client, plan) else put_bodies(plan, maker, numbers)
    depth = PIPELINED if pipelines else 1
    connections = [Connection(client.port) for _ in range(CONNECTIONS)]
    pending = [0] * CONNECTIONS
    signer, signed_at = Signer(client.host), time.monotonic()
    written = turn = 0
    try:
        while True:
            place = turn % CONNECTIONS
            receive_replies(connections[place], pending[place])
            chosen = list(islice(bodies, depth))
            pending[place] = len(chosen)
            if not chosen and not any(pending):
                return
            if chosen:
                connections[place].send(b"".join(signer.request(operation, body) for operation, body, _ in chosen))
            written += sum(count for _, _, count in chosen)
            turn += 1
            if turn % 256 == 0:
                on_progress(written)
                if time.monotonic() - signed_at > SIGNER_SECONDS_MAX:
                    signer, signed_at = Signer(client.host), time.monotonic()
    finally:
        for connection in connections:
            connection.close()


def receive_replies(connection: Connection, count: int) -> None:
    """Read that many replies; raises ReplyError unless all are good."""
    for _ in range(count):
        status, body = connection.receive()
        if status != 200:
            raise ReplyError(f"a write was refused: {status} {body[:500].decode(errors='replace')}")
        if (
            b'"UnprocessedItems":{}' not in body
            and b'"UnprocessedItems":' in body
            and json.loads(body)["UnprocessedItems"]
        ):
            raise ReplyError("a batch was left unprocessed")


def put_bodies(plan: Plan, maker: ItemMaker, numbers: range) -> Iterator[tuple[str, bytes, int]]:
    """(operation, body, items written) of one PutItem per item."""
    for number in numbers:
        yield "PutItem", f'{{"TableName":"{plan.table}","Item":{maker.item(number)}}}'.encode(), 1


def batch_bodies(plan: Plan, maker: ItemMaker, numbers: range) -> Iterator[tuple[str, bytes, int]]:
    """(operation, body, items written) of one BatchWriteItem per 25 items."""
    for start in range(numbers.start, numbers.stop, ITEMS_PER_BATCH):
        chosen = range(start, min(start + ITEMS_PER_BATCH, numbers.stop))
        puts = ",".join(f'{{"PutRequest":{{"Item":{maker.item(number)}}}}}' for number in chosen)
        yield "BatchWriteItem", f'{{"RequestItems":{{"{plan.table}":[{puts}]}}}}'.encode(), len(chosen)
