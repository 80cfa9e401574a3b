"""Does a request to a node let others have their turn? Counted, not timed:
calls of Python functions between two turns of the loop.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import cbor2
import msgspec
import pytest

from hashrange.dax.attribute_lists import AttributeLists
from hashrange.errors import ApiError
from hashrange.items import steps
from hashrange.long_reads import RELEASED_TOGETHER
from hashrange.messages.http import shown_message
from hashrange.store.documents import NOTHING_READ
from tests.support.dax_client import DaxError, expression, path, request_bytes, value
from tests.support.working import calls_of
from tests.unit.dax.turns import TABLE, TurnsClient, TurnsNode
from tests.unit.server.harness import FakeTransport

CALLS_MAX = 30_000
"""Highest number of Python calls between two turns: some 4 ms. A refused request makes most, within a piece of text."""
COUNT = 10_000
NAMES = [f"{place:05}" for place in range(COUNT)]


def array(count: int, element: bytes) -> bytes:
    return b"\x9a" + count.to_bytes(4, "big") + element * count


ZEROS = array(COUNT, b"\x00")
MAP = b"\xba" + COUNT.to_bytes(4, "big") + b"".join([cbor2.dumps(name) + b"\xf6" for name in NAMES])
NUMBERS = cbor2.dumps(cbor2.CBORTag(3322, list(range(COUNT))))
FIRST = cbor2.dumps([1, [path("n", 0)]])
ALL_OLD, UPDATED_NEW = {7: 2}, 5


def wide(client: TurnsClient) -> bytes:
    """An item of very many attributes."""
    return cbor2.dumps(client.call("defineAttributeListId", NAMES)) + b"\xf6" * COUNT


def with_list(client: TurnsClient) -> bytes:
    client.put(b"a", ZEROS)
    return client.item(ZEROS)


Prepare = Callable[[TurnsClient], Any]
Ask = Callable[[TurnsClient, Any], Any]


def nothing(client: TurnsClient) -> None:
    del client


KINDS: dict[str, tuple[Prepare, Ask]] = {
    "put map": (lambda client: client.item(MAP), lambda client, item: client.call("putItem", TABLE, b"a", item, None)),
    "put set": (
        lambda client: client.item(NUMBERS),
        lambda client, item: client.call("putItem", TABLE, b"a", item, None),
    ),
    "put again": (with_list, lambda client, item: client.call("putItem", TABLE, b"a", item, ALL_OLD)),
    "put wide": (wide, lambda client, item: client.call("putItem", TABLE, b"a", item, ALL_OLD)),
    "refused": (with_list, lambda client, item: client.call("putItem", TABLE, b"", item, None)),
    "too large": (
        lambda client: client.item(array(COUNT + 1, b"\xf6")[:-1] + cbor2.dumps("x" * 400_000)),
        lambda client, item: client.call("putItem", TABLE, b"a", item, None),
    ),
    "get": (with_list, lambda client, _: client.call("getItem", TABLE, b"a", {2: True})),
    "hit with projection": (with_list, lambda client, _: client.call("getItem", TABLE, b"a", {0: FIRST})),
    "get with projection": (with_list, lambda client, _: client.call("getItem", TABLE, b"a", {0: FIRST, 2: True})),
    "update": (
        with_list,
        lambda client, _: client.call(
            "updateItem", TABLE, b"a", {8: expression([[19, path("m"), path("n")]]), 7: UPDATED_NEW}
        ),
    ),
    "delete": (with_list, lambda client, _: client.call("deleteItem", TABLE, b"a", ALL_OLD)),
    "scan": (with_list, lambda client, _: client.call("scan", TABLE, None)),
    "batch hit": (with_list, lambda client, _: client.call("batchGetItem", {TABLE: [False, FIRST, [b"a"]]}, None)),
    "batch write": (
        with_list,
        lambda client, item: client.call("batchWriteItem", {TABLE: [b"a", item, b"b", item]}, None),
    ),
    "batch write wide": (wide, lambda client, item: client.call("batchWriteItem", {TABLE: [b"a", item]}, None)),
    "transaction wide": (
        wide,
        lambda client, item: client.call(
            "transactWriteItems", [2], [TABLE], [b"a"], [item], None, [None], [None], [None], None
        ),
    ),
    "cancelled": (
        with_list,
        lambda client, _: client.call(
            "transactWriteItems",
            [12],
            [TABLE],
            [b"a"],
            [None],
            None,
            [2],
            [expression([12, path("name")])],
            [None],
            None,
        ),
    ),
    "transact get": (with_list, lambda client, _: client.call("transactGetItems", [TABLE], [b"a"], [None], None)),
    "filter": (
        nothing,
        lambda client, _: client.call(
            "scan", TABLE, {10: b"\x83" + expression([0, path("n"), value(0)])[1:-1] + b"\x81" + ZEROS}
        ),
    ),
    "list of names": (nothing, lambda client, _: client.call("defineAttributeListId", NAMES)),
    "names of list": (
        lambda client: client.call("defineAttributeListId", NAMES),
        lambda client, list_id: client.call("defineAttributeList", list_id),
    ),
    "chunks": (
        lambda client: client.item(b"\x5f" + b"\x41a" * 30_000 + b"\xff"),
        lambda client, item: client.call("putItem", TABLE, b"a", item, None),
    ),
    "many keys": (
        nothing,
        lambda client, _: client.call(
            "batchGetItem", {TABLE: [False, None, [b"%d" % one for one in range(COUNT)]]}, None
        ),
    ),
    "many deletes": (
        nothing,
        lambda client, _: client.call(
            "batchWriteItem", {TABLE: [part for one in range(COUNT) for part in (b"%d" % one, None)]}, None
        ),
    ),
    "many options": (nothing, lambda client, _: client.call("scan", TABLE, dict.fromkeys(NAMES, 1))),
    "many paths": (
        nothing,
        lambda client, _: client.call(
            "getItem", TABLE, b"a", {0: cbor2.dumps([1, [path(name) for name in NAMES[:5_000]]])}
        ),
    ),
    "long condition": (
        nothing,
        lambda client, _: client.call(
            "scan", TABLE, {10: expression([7, *[[0, path(name), value(0)] for name in NAMES[:1_600]]], 1)}
        ),
    ),
    "many requests": (
        lambda client: client.put(b"a", b"\x01"),
        lambda client, _: client.send(request_bytes("getItem", TABLE, b"a", None) * 5_000),
    ),
}
REFUSED = {
    "refused",
    "too large",
    "cancelled",
    "many keys",
    "many deletes",
    "many paths",
    "long condition",
}


@pytest.fixture
def node() -> Iterator[TurnsNode]:
    node = TurnsNode()
    members = {
        "TableName": TABLE.decode(),
        "KeySchema": [{"AttributeName": "name", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "name", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    node.ask("CreateTable", members)
    yield node
    node.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_request_lets_others_have_their_turn(node: TurnsNode, kind: str) -> None:
    prepare, ask = KINDS[kind]
    client = TurnsClient(node)
    prepared = prepare(client)
    node.calls_max = 0
    if kind in REFUSED:
        with pytest.raises(DaxError):
            ask(client, prepared)
    else:
        ask(client, prepared)
        node.finish()
    assert 0 < node.calls_max <= CALLS_MAX


EMPTY = {"name": {"S": ""}}
LONG_BATCHES: dict[str, tuple[Callable[[TurnsClient], Any], str, dict[str, Any]]] = {
    "gets": (
        lambda client: client.call("batchGetItem", {TABLE: [False, None, [b""] * COUNT]}, None),
        "BatchGetItem",
        {"RequestItems": {"films": {"Keys": [EMPTY] * COUNT}}},
    ),
    "deletes": (
        lambda client: client.call("batchWriteItem", {TABLE: [b"", None] * COUNT}, None),
        "BatchWriteItem",
        {"RequestItems": {"films": [{"DeleteRequest": {"Key": EMPTY}}] * COUNT}},
    ),
    "puts": (
        lambda client: client.call("batchWriteItem", {TABLE: [b"", client.item(b"\x00")] * COUNT}, None),
        "BatchWriteItem",
        {"RequestItems": {"films": [{"PutRequest": {"Item": {"n": {"N": "0"}} | EMPTY}}] * COUNT}},
    ),
    "transaction": (
        lambda client: client.call("transactGetItems", [TABLE] * COUNT, [b""] * COUNT, None, None),
        "TransactGetItems",
        {"TransactItems": [{"Get": {"TableName": "films", "Key": EMPTY}}] * COUNT},
    ),
    "scan": (
        lambda client: client.call(
            "scan", TABLE, {10: b"\x83" + expression([0, path("n"), value(0)])[1:-1] + b"\x81" + ZEROS, 13: 0}
        ),
        "Scan",
        {"TableName": "films", "Limit": 0},
    ),
}


@pytest.mark.parametrize("kind", LONG_BATCHES)
def test_a_long_request_is_refused_in_short_steps(node: TurnsNode, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused in the words of DynamoDB, and no call decodes much of it: one took 200 ms for 400,000 keys."""
    send, operation, members = LONG_BATCHES[kind]
    with pytest.raises(ApiError) as expected:
        node.ask(operation, members)
    sizes_bytes = [0]
    real = msgspec.json.decode

    def noted(text: bytes, **options: Any) -> Any:
        sizes_bytes.append(len(text))
        return real(text, **options)

    monkeypatch.setattr(msgspec.json, "decode", noted)
    with pytest.raises(DaxError) as refused:
        send(TurnsClient(node))
    assert refused.value.message == shown_message(str(expected.value.message))
    assert max(sizes_bytes) <= steps.PIECE_BYTES


def test_without_giving_way_it_would_not(node: TurnsNode, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: without giving way, a turn has far too many calls."""
    client = TurnsClient(node)
    item = client.item(ZEROS)
    monkeypatch.setattr(steps, "_look", None)
    node.calls_max = 0
    client.call("putItem", TABLE, b"a", item, None)
    assert node.calls_max > 2 * CALLS_MAX


def overtaken(
    node: TurnsNode, first: TurnsClient, second: TurnsClient, request: bytes, is_time: Callable[[], bool]
) -> None:
    """Let `first` send a long request, and `second` update the same item once,
    when `first` has given way and it is time.
    """

    def between() -> None:
        if is_time():
            node.between = lambda: None
            second.call("updateItem", TABLE, b"a", {8: expression([[19, path("n"), value(0)]], 1)})

    node.between = between
    first.send(request)
    node.finish()


@pytest.mark.parametrize("is_batch", [False, True])
def test_a_long_write_that_was_overtaken_is_not_kept(node: TurnsNode, is_batch: bool) -> None:
    """Another request writes the same item while the first one, which is committed, makes its reply."""
    first, second = TurnsClient(node), TurnsClient(node)
    item = first.item(ZEROS)
    if is_batch:
        request = request_bytes("batchWriteItem", {TABLE: [b"a", item, b"b", item]}, None)
    else:
        request = request_bytes("putItem", TABLE, b"a", item, None)
    before = node.store.position()
    overtaken(node, first, second, request, lambda: node.store.position() > before)
    known = second.call("getItem", TABLE, b"a", None)
    assert known == second.call("getItem", TABLE, b"a", {2: True})


@pytest.mark.parametrize("turns", range(6))
def test_a_long_read_that_was_overtaken_is_not_kept(node: TurnsNode, turns: int) -> None:
    first, second = TurnsClient(node), TurnsClient(node)
    first.put(b"a", ZEROS)
    node.caches.clear()
    left = iter([False] * turns + [True] * 1_000)
    request = request_bytes("batchGetItem", {TABLE: [False, None, [b"a"]]}, None)
    overtaken(node, first, second, request, lambda: next(left))
    assert second.call("getItem", TABLE, b"a", None) == second.call("getItem", TABLE, b"a", {2: True})


def test_two_who_define_the_same_long_list_at_a_time_get_one_id(node: TurnsNode) -> None:
    clients = [TurnsClient(node) for _ in range(3)]
    for client in clients:
        client.send(request_bytes("defineAttributeListId", NAMES))
    node.finish()
    (list_id,) = {client.result("defineAttributeListId") for client in clients}
    assert clients[0].call("defineAttributeList", list_id) == NAMES
    assert len(node.lists._known) == 1


def test_a_page_of_items_that_each_have_a_name_of_their_own(node: TurnsNode, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their lists are made and written in turns, and a node that has not seen them reads none of them."""
    client = TurnsClient(node)
    members = {"films": [{"PutRequest": {"Item": {"name": {"S": "x"}}}}]}
    for first in range(0, 2_000, 25):
        members["films"] = [
            {"PutRequest": {"Item": {"name": {"S": f"{place}"}, f"own{place}": {"N": "1"}}}}
            for place in range(first, first + 25)
        ]
        node.ask("BatchWriteItem", {"RequestItems": members})
    written: list[int] = []
    real = node.store.documents.write

    async def noted(
        changes: Mapping[str, bytes | None],
        generation: int | None = None,
        read: Mapping[str, bytes | None] = NOTHING_READ,
    ) -> bool:
        written.append(len(changes))
        return await real(changes, generation, read)

    monkeypatch.setattr(node.store.documents, "write", noted)
    node.calls_max = 0
    page = client.call("scan", TABLE, None)
    assert len(page[7]) == 2_000
    assert sum(written) > 2_000
    assert max(written) <= 201
    assert node.calls_max < CALLS_MAX
    assert node.lists.is_durable
    assert calls_of(AttributeLists, node.store.documents) < 100


def test_layouts_of_items_of_many_names_are_not_kept(node: TurnsNode) -> None:
    client = TurnsClient(node)
    client.call("putItem", TABLE, b"a", wide(client), None)
    assert not node.lists.layouts
    client.put(b"b", b"\x00")
    assert len(node.lists.layouts) == 1


def test_keys_that_no_item_can_have_are_not_counted_as_hot(node: TurnsNode) -> None:
    client = TurnsClient(node)
    for _ in range(20):
        with pytest.raises(DaxError):
            client.call("getItem", TABLE, b"x" * 100_000, None)
    assert node.caches.hot_keys.most(1) == []


def send_together(node: TurnsNode, clients: list[TurnsClient], request: bytes) -> None:
    """Let all clients send a request in the same turn; `node.calls_max` counts from then on."""
    node.calls_max = 0

    def all_send() -> None:
        for one in clients:
            one._connection.data_received(request)

    node.counted(all_send)
    node.finish()


def test_who_sends_long_is_held_once_a_turn_has_brought_enough(node: TurnsNode) -> None:
    """1,000 clients that send 256 KB each are not all read in the same turn, again and again."""
    clients = [TurnsClient(node) for _ in range(24)]
    node.finish()
    piece = request_bytes("getItem", TABLE, b"x" * 400_000, None)[: 1 << 18]
    for one in clients:
        one._connection.data_received(piece)
    assert not any(one.transport.reads for one in clients)
    released = {sum(one.transport.reads for one in clients)}
    node.between = lambda: released.add(sum(one.transport.reads for one in clients))
    node.finish()
    assert {0, RELEASED_TOGETHER, 2 * RELEASED_TOGETHER} <= released
    assert all(one.transport.reads for one in clients)


def test_many_clients_of_one_turn_share_its_slice(node: TurnsNode) -> None:
    """Each would have a slice of its own otherwise."""
    client = TurnsClient(node)
    client.put(b"a", ZEROS)
    clients = [TurnsClient(node) for _ in range(20)]
    request = request_bytes("getItem", TABLE, b"a", {2: True})
    send_together(node, clients, request)
    assert [one.result("getItem")[0] for one in clients] == [client.call("getItem", TABLE, b"a", None)[0]] * 20
    assert node.calls_max <= CALLS_MAX


@pytest.mark.parametrize("element", [b"\x00", b"\x60", b"\xa0"], ids=["numbers", "texts", "maps"])
@pytest.mark.parametrize("size_bytes", [900, 8_000])
def test_short_requests_of_a_crowd_are_read_in_the_slice_of_a_turn(
    node: TurnsNode, element: bytes, size_bytes: int
) -> None:
    """As many as came in one pass over the sockets were read at once: 200 of 8 KB took 0.5 to 1 s."""
    clients = [TurnsClient(node) for _ in range(20 if size_bytes > 1_000 else 60)]
    request = request_bytes("batchGetItem", [], None)
    request = request.replace(b"\x80", array(size_bytes, element))
    send_together(node, clients, request)
    for one in clients:
        with pytest.raises(DaxError):
            one.result("batchGetItem")
    assert node.calls_max <= CALLS_MAX


def test_items_that_the_cache_knows_are_sent_in_the_slice_of_a_turn(
    node: TurnsNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To write a reply of 390 KB to a socket takes longer than to find it: 300 clients held others for 350 ms."""
    TurnsClient(node).put(b"a", b"\x01")
    clients = [TurnsClient(node) for _ in range(50)]
    sent = [0]

    def write(_transport: FakeTransport, _data: bytes) -> None:
        sent[-1] += 1
        node.service.clock.advance_all(0.001)  # type: ignore[attr-defined]

    monkeypatch.setattr(FakeTransport, "write", write)
    node.between = lambda: sent.append(0)
    for one in clients:
        one._connection.data_received(request_bytes("getItem", TABLE, b"a", None))
    node.finish()
    assert sum(sent) == len(clients)
    assert max(sent) <= 4
