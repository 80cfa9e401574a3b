"""Large replies to many simultaneous requests: few are made at a time, and waiting requests hold nothing large."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from hashrange.items import steps
from hashrange.items.row_layout import is_packed
from hashrange.items.rows import encode_row
from hashrange.items.values import check_item
from hashrange.operations.operation import Scope
from hashrange.operations.reply import Reply
from hashrange.service.workers import LARGE_TOGETHER_BYTES, LARGE_WAITING_MAX
from tests.unit.server.harness import EchoRequest, FakeTransport, FrontEnd, Turns, replies

ITEM: dict[str, Any] = {"pk": {"S": "a"}, "v": {"S": "\x01" * 100_000}}
REPLY_BYTES = len(msgspec.json.encode({"Item": ITEM}))
CLIENTS = 2 * LARGE_WAITING_MAX
MADE_TOGETHER = 1 + LARGE_TOGETHER_BYTES // REPLY_BYTES


@pytest.fixture
def turns() -> Turns:
    return Turns()


@pytest.fixture
def front(turns: Turns) -> Iterator[FrontEnd]:
    before = steps._look, steps._queue
    front = FrontEnd(connections_max=3 * CLIENTS)
    loop: Any = turns
    front.service.take_turns(loop)
    yield front
    steps._look, steps._queue = before


def ask_all(front: FrontEnd) -> list[FakeTransport]:
    """Let every client request the item."""
    clients = [front.connect() for _ in range(CLIENTS)]
    for connection, _ in clients:
        connection.data_received(front.request())
    return [transport for _, transport in clients]


def test_few_hold_a_large_item_and_all_are_answered(front: FrontEnd, turns: Turns) -> None:
    row = encode_row(*check_item(ITEM))
    assert is_packed(row)
    reads = 0

    async def get(scope: Scope, request: EchoRequest) -> Reply:
        nonlocal reads
        reads += 1
        return {"Item": row}

    front.replace_run("GetItem", get)
    workers = front.service.workers
    ask_all(front)
    while turns.due:
        turns.turn()
    reads = 0  # all once more, to see that nothing was left behind
    transports = ask_all(front)
    most = workers.count_left()
    while turns.due:
        turns.turn()
        most = max(most, workers.count_left())
    assert most <= LARGE_WAITING_MAX + MADE_TOGETHER
    for transport in transports:
        (answer,) = replies(transport.take())
        assert (answer.status, len(answer.body)) == (200, REPLY_BYTES)
    assert CLIENTS < reads <= 2 * CLIENTS
    assert not workers.is_crowded


def test_small_items_and_other_operations_are_never_put_off(front: FrontEnd, turns: Turns) -> None:
    row, small_row = encode_row(*check_item(ITEM)), encode_row(*check_item({"pk": {"S": "a"}}))
    writes = 0

    async def get(scope: Scope, request: EchoRequest) -> Reply:
        return {"Item": small_row if request.TableName == "small" else row}

    async def put(scope: Scope, request: EchoRequest) -> Reply:
        nonlocal writes
        writes += 1
        return {"Item": row}

    front.replace_run("GetItem", get)
    front.replace_run("PutItem", put)
    ask_all(front)
    assert front.service.workers.is_crowded
    connection, transport = front.connect()
    connection.data_received(front.request(b'{"TableName":"small"}'))
    assert replies(transport.take())[0].body == b'{"Item":{"pk":{"S":"a"}}}'
    connection.data_received(front.request(operation="PutItem"))
    while turns.due:
        turns.turn()
    assert len(replies(transport.take())[0].body) == REPLY_BYTES
    assert writes == 1


def test_a_failure_of_what_was_put_off_is_answered(front: FrontEnd, turns: Turns) -> None:
    row = encode_row(*check_item(ITEM))
    reads = 0

    async def get(scope: Scope, request: EchoRequest) -> Reply:
        nonlocal reads
        reads += 1
        if reads > CLIENTS:
            raise AssertionError("a bug of ours")
        return {"Item": row}

    front.replace_run("GetItem", get)
    transports = ask_all(front)
    while turns.due:
        turns.turn()
    statuses = [replies(transport.take())[0].status for transport in transports]
    assert len(statuses) == CLIENTS
    assert statuses.count(500) == reads - CLIENTS > 0
