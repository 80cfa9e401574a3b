"""How is a table filled? Signed writes over several keep-alive connections, by BatchWriteItem where the server has it.

A server that supports pipelining gets several requests per connection at once; others get one at a time.
"""

import json
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from benchmarks.client import Client, Connection, ReplyError
from benchmarks.items import ItemMaker
from benchmarks.prepare import Caller
from benchmarks.signing import Signer
from benchmarks.workloads import Index, Plan

CONNECTIONS = 16
PIPELINED = 8
ITEMS_PER_BATCH = 25
TURNS_PER_REPORT = 64
NUMBER_ATTRIBUTES = frozenset({"total"})
SIGNER_SECONDS_MAX = 300
"""Age after which the signer is renewed, so that long loads do not send expired dates."""


def table_arguments(plan: Plan, indexes: int) -> dict[str, Any]:
    """Return CreateTable's arguments for the table with this many of the plan's indexes."""
    chosen = plan.index[:indexes]
    arguments: dict[str, Any] = {
        "TableName": plan.table_name(indexes),
        "KeySchema": key_schema("pk", "sk"),
        "AttributeDefinitions": attribute_definitions("pk", "sk", *(key for one in chosen for key in keys_of(one))),
        "BillingMode": "PAY_PER_REQUEST",
    }
    if chosen:
        arguments["GlobalSecondaryIndexes"] = [index_arguments(one) for one in chosen]
    return arguments


def index_arguments(index: Index) -> dict[str, Any]:
    """Return an index as CreateTable and UpdateTable take it."""
    return {
        "IndexName": index.name,
        "KeySchema": key_schema(*keys_of(index)),
        "Projection": {"ProjectionType": "ALL"},
    }


def keys_of(index: Index) -> tuple[str, str]:
    """Return the index's key attributes."""
    return index.partition, index.sort


def key_schema(partition: str, sort: str) -> list[dict[str, str]]:
    """Return the KeySchema of HASH and RANGE keys."""
    return [{"AttributeName": partition, "KeyType": "HASH"}, {"AttributeName": sort, "KeyType": "RANGE"}]


def attribute_definitions(*names: str) -> list[dict[str, str]]:
    """Return AttributeDefinitions: each attribute once, with its type."""
    return [
        {"AttributeName": name, "AttributeType": "N" if name in NUMBER_ATTRIBUTES else "S"}
        for name in dict.fromkeys(names)
    ]


def create_table(client: Caller, plan: Plan, indexes: int = 0) -> None:
    """Create the table with this many indexes and wait until all are ACTIVE."""
    arguments = table_arguments(plan, indexes)
    client.call("CreateTable", arguments)
    for _ in range(500):
        table = client.call("DescribeTable", {"TableName": arguments["TableName"]})["Table"]
        states = [table["TableStatus"], *(index["IndexStatus"] for index in table.get("GlobalSecondaryIndexes", []))]
        if set(states) == {"ACTIVE"}:
            return
        time.sleep(0.02)
    raise ReplyError("the table does not become ACTIVE")


def has_batches(client: Client, table: str) -> bool:
    """True if the server supports BatchWriteItem, tried with a deletion of a missing item."""
    key = {"pk": {"S": "nobody"}, "sk": {"S": "nothing"}}
    try:
        client.call("BatchWriteItem", {"RequestItems": {table: [{"DeleteRequest": {"Key": key}}]}})
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
    indexes: int = 0,
    on_progress: Callable[[int], None] = lambda _: None,
) -> None:
    """Write the items with these numbers into the table with this many indexes; raises ReplyError when one is refused.

    `on_progress(items written so far)` is called now and then, and may raise to stop the load.
    """
    table = plan.table_name(indexes)
    bodies = (batch_bodies if has_batches(client, table) else put_bodies)(table, maker, numbers)
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
            if turn % TURNS_PER_REPORT == 0:
                on_progress(written)
                if time.monotonic() - signed_at > SIGNER_SECONDS_MAX:
                    signer, signed_at = Signer(client.host), time.monotonic()
    finally:
        for connection in connections:
            connection.close()


def receive_replies(connection: Connection, count: int) -> None:
    """Read this many replies; raises ReplyError unless all are 200."""
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


def put_bodies(table: str, maker: ItemMaker, numbers: range) -> Iterator[tuple[str, bytes, int]]:
    """Yield (operation, body, items written) of one PutItem per item."""
    for number in numbers:
        yield "PutItem", f'{{"TableName":"{table}","Item":{maker.item(number)}}}'.encode(), 1


def batch_bodies(table: str, maker: ItemMaker, numbers: range) -> Iterator[tuple[str, bytes, int]]:
    """Yield (operation, body, items written) of one BatchWriteItem per 25 items."""
    for start in range(numbers.start, numbers.stop, ITEMS_PER_BATCH):
        chosen = range(start, min(start + ITEMS_PER_BATCH, numbers.stop))
        puts = ",".join(f'{{"PutRequest":{{"Item":{maker.item(number)}}}}}' for number in chosen)
        yield "BatchWriteItem", f'{{"RequestItems":{{"{table}":[{puts}]}}}}'.encode(), len(chosen)
