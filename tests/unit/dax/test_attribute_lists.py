"""Attribute lists belong to one account, and one that has too many of them harms nobody, and loses nothing."""

import asyncio
from collections.abc import Iterator
from typing import Any

import cbor2
import pytest

from hashrange.clock import SystemClock
from hashrange.dax import attribute_lists
from hashrange.dax.attribute_lists import AttributeLists, TooManyLists
from hashrange.store.documents import Documents
from hashrange.store.embedded import open_store
from hashrange.testing import Database
from hashrange.wire.dax.reading import BadBytes
from tests.support.dax_client import DaxClient, DaxError, authorization, expression, path, value
from tests.support.samples import finish
from tests.support.working import lines_between_looks

ACCOUNT = "000000000000"
KEY = cbor2.dumps("Nina") + b"\xc1\x1c\x00\x00"


def other(database: Database) -> DaxClient:
    return DaxClient(str(database.dax_endpoint), authorize=authorization("444455556666"))


def test_lists_of_other_accounts_are_not_known(database: Database, dax: DaxClient) -> None:
    list_id = dax.call("defineAttributeListId", ["secret"])
    with other(database) as stranger:
        with pytest.raises(DaxError, match="an unknown attribute list"):
            stranger.call("defineAttributeList", list_id)
        assert stranger.call("defineAttributeListId", ["secret"]) == list_id
        assert stranger.call("defineAttributeList", list_id) == ["secret"]


@pytest.mark.parametrize("names", [["x" * 65_536], ["x" * 65_535] * 7, [f"{place:04}" for place in range(99_999)]])
def test_lists_that_no_item_can_have_are_refused(dax: DaxClient, names: list[str]) -> None:
    with pytest.raises(DaxError, match="an attribute list that no item can have"):
        dax.call("defineAttributeListId", names)
    assert dax.call("defineAttributeListId", ["x" * 65_535] * 6)


def test_an_account_with_too_many_lists(
    database: Database, dax: DaxClient, direct: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = dax.item_bytes(known=1)
    monkeypatch.setattr(attribute_lists, "LISTS_BYTES_MAX", 0)
    monkeypatch.setattr(attribute_lists, "PASSING_LISTS_MAX", 2)
    with pytest.raises(DaxError, match="LimitExceededException"):
        dax.call("defineAttributeListId", ["more"])
    dax.call("putItem", b"music", KEY, known, None)
    for place in range(5):
        tree = expression([[19, path(f"new{place}"), value(0)]], "v")
        reply = dax.call("updateItem", b"music", KEY, {8: tree, 7: 4})
        new = {"known": 1} | {f"new{one}": "v" for one in range(place + 1)}
        assert dax.item_of(reply[2]) == new, "a write is told to be one"
        for _ in range(2):
            assert dax.item_of(dax.call("getItem", b"music", KEY, None)[0]) == new
            page = dax.call("scan", b"music", None)
            assert dax.item_of(page[7][0][1]) == new
        batch = dax.call("batchGetItem", {b"music": [False, None, [KEY]]}, None)
        assert dax.item_of(batch[0][0]["music"][1]) == new
    assert dax.item_bytes(known=1) == known, "a list that a client knows stays known"
    with other(database) as free:
        monkeypatch.setattr(attribute_lists, "LISTS_BYTES_MAX", 1)
        assert free.call("defineAttributeListId", ["own"])


@pytest.mark.parametrize("is_connected", [False, True])
def test_a_reset_drops_the_lists_of_accounts_without_clients(
    database: Database, dax: DaxClient, is_connected: bool
) -> None:
    list_id = dax.call("defineAttributeListId", ["one"])
    with other(database) as client:
        other_id = client.call("defineAttributeListId", ["two"])
        if is_connected:
            database.reset()
            assert client.call("defineAttributeList", other_id) == ["two"]
    nodes: Any = database._process._server.dax  # type: ignore[union-attr]
    while database._process.run(lambda: sum(len(one.connections) for one in nodes._running.values())) > 1:
        dax.call("endpoints")
    database.reset()
    assert dax.call("defineAttributeList", list_id) == ["one"]
    with other(database) as client, pytest.raises(DaxError, match="an unknown attribute list"):
        client.call("defineAttributeList", other_id)


def test_a_list_survives_content_that_lacks_it_while_clients_of_its_account_use_it(
    database: Database, dax: DaxClient
) -> None:
    list_id = dax.call("defineAttributeListId", ["one"])
    for _ in range(3):
        database.reset()
        assert dax.call("defineAttributeList", list_id) == ["one"]
    dax.call("defineAttributeListId", ["two"])  # its reply waits until all lists are written
    snapshot = database.snapshot()
    with other(database) as client:
        client.call("defineAttributeListId", ["three"])
    with database.fork() as fork, DaxClient(str(fork.dax_endpoint)) as client:
        assert client.call("defineAttributeList", list_id) == ["one"]
    database.restore(snapshot)
    assert dax.call("defineAttributeList", list_id) == ["one"]


# --- bounds ---------------------------------------------------------------------------------------


@pytest.fixture
def documents() -> Iterator[Documents]:
    store = open_store(None, SystemClock(), None)
    yield store.documents
    store.close_now()


def test_passing_lists_are_known_until_some_others_have_followed(
    documents: Documents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attribute_lists, "LISTS_BYTES_MAX", -1)
    monkeypatch.setattr(attribute_lists, "PASSING_LISTS_MAX", 2)
    lists = AttributeLists(documents)
    ids = [lists.id_of(ACCOUNT, (name,)) for name in "abc"]
    assert [lists.names_of(ACCOUNT, one) for one in ids[1:]] == [("b",), ("c",)]
    with pytest.raises(BadBytes, match="an unknown attribute list"):
        lists.names_of(ACCOUNT, ids[0])
    monkeypatch.setattr(attribute_lists, "PASSING_BYTES_MAX", 1)
    last = lists.id_of(ACCOUNT, ("d",))
    assert lists.names_of(ACCOUNT, last) == ("d",), "the newest one is known in any case"
    with pytest.raises(BadBytes, match="an unknown attribute list"):
        lists.names_of(ACCOUNT, ids[2])


@pytest.mark.parametrize("may_pass", [False, True])
def test_a_large_list_takes_the_room_of_many_in_pieces(
    documents: Documents, monkeypatch: pytest.MonkeyPatch, *, may_pass: bool
) -> None:
    """A list of 400,000 names without letters took the room of 87,000 others in one step of 95 ms."""
    monkeypatch.setattr(attribute_lists, "KNOWN_BYTES_MAX", 1_500_000)
    monkeypatch.setattr(attribute_lists, "PASSING_BYTES_MAX", 1_500_000)
    if may_pass:
        monkeypatch.setattr(attribute_lists, "LISTS_BYTES_MAX", -1)
    lists = AttributeLists(documents)
    for place in range(5_000):
        lists.id_of(ACCOUNT, (f"{place}",), may_pass=may_pass)
    known = lists._passing if may_pass else lists._known
    before = len(known)
    assert lines_between_looks(lambda: lists.id_of(ACCOUNT, ("",) * 20_000, may_pass=may_pass)) < 5_000
    assert before - len(known) > 3_800


def test_a_list_that_gives_way_while_it_takes_room_is_written(
    documents: Documents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others may write what is not written meanwhile, and take its place in memory."""
    monkeypatch.setattr(attribute_lists, "KNOWN_BYTES_MAX", 1_000)
    lists = AttributeLists(documents)
    lists.id_of(ACCOUNT, ("first",))
    finish(lists.write())
    found = []

    def between(_steps: int) -> None:
        monkeypatch.undo()
        found.append(lists.is_durable)

    monkeypatch.setattr(attribute_lists, "spend", between)
    list_id = lists.id_of(ACCOUNT, tuple(f"{place}" for place in range(30)))
    assert found == [False]
    finish(lists.write())
    assert AttributeLists(documents).names_of(ACCOUNT, list_id) == tuple(f"{place}" for place in range(30))


def test_the_passing_lists_of_a_whole_page_are_known(documents: Documents, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attribute_lists, "LISTS_BYTES_MAX", -1)
    lists = AttributeLists(documents)
    ids = {lists.id_of(ACCOUNT, (f"{place:05}",)): place for place in range(40_000)}
    assert all(lists.names_of(ACCOUNT, list_id) == (f"{place:05}",) for list_id, place in ids.items())


def test_what_memory_does_not_hold_is_read_again(documents: Documents, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of many accounts take no more memory than those of one."""
    monkeypatch.setattr(attribute_lists, "KNOWN_BYTES_MAX", 5_000)
    lists = AttributeLists(documents)
    accounts = [f"{number:012}" for number in range(40)]
    ids = [[lists.id_of(account, (name, account)) for name in "abc"] for account in accounts]
    assert sum(len(one.names) for one in lists._known.values()) < 40
    assert all(lists.names_of(account, one) for account, listed in zip(accounts, ids, strict=True) for one in listed)
    finish(lists.write())
    assert not lists._unwritten
    assert lists.is_durable
    for account, listed in zip(accounts, ids, strict=True):
        assert [lists.names_of(account, one)[0] for one in listed] == ["a", "b", "c"]
        assert [lists.id_of(account, (name, account)) for name in "abc"] == listed
    assert lists.is_durable
    assert lists._known_bytes == sum(one.size_bytes for one in lists._known.values()) <= 5_000
    assert len(lists._ids) == len(lists._known)


def test_the_size_of_an_account_survives_a_restart(documents: Documents, monkeypatch: pytest.MonkeyPatch) -> None:
    lists = AttributeLists(documents)
    lists.define(ACCOUNT, ("a", "b"))
    finish(lists.write())
    size_bytes = lists.size_bytes(ACCOUNT)
    assert size_bytes > 0
    monkeypatch.setattr(attribute_lists, "LISTS_BYTES_MAX", size_bytes - 1)
    again = AttributeLists(documents)
    with pytest.raises(TooManyLists):
        again.define(ACCOUNT, ("c",))
    assert again.define(ACCOUNT, ("a", "b"))
    assert again.define("111111111111", ("c",))


def test_two_lists_with_the_same_first_id_have_two(documents: Documents, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attribute_lists, "first_id", lambda names: 7)
    lists = AttributeLists(documents)
    ids = [lists.id_of(ACCOUNT, (name,)) for name in "abc"]
    assert ids == [7, 8, 9]
    finish(lists.write())
    again = AttributeLists(documents)
    assert [again.id_of(ACCOUNT, (name,)) for name in "cab"] == [9, 7, 8]
    assert again.names_of(ACCOUNT, 8) == ("b",)


def test_lists_in_memory_are_written_again_only_if_the_content_lacks_them() -> None:
    """What is written again counts; what the content has does not count twice."""
    store = open_store(None, SystemClock(), None)
    lists = AttributeLists(store.documents)
    kept = lists.define(ACCOUNT, ("kept",))
    finish(lists.write())
    size_bytes = lists.size_bytes(ACCOUNT)
    checkpoint = asyncio.run(store.copying.checkpoint())
    lost = lists.define(ACCOUNT, ("lost",))
    finish(lists.write())
    both_bytes = lists.size_bytes(ACCOUNT)
    store.copying.restore(checkpoint)
    checkpoint.release()
    lists.count_client(ACCOUNT, 1)
    lists.forget()
    assert lists.names_of(ACCOUNT, kept) == ("kept",)
    assert lists.is_durable
    assert lists.size_bytes(ACCOUNT) == size_bytes
    assert lists.names_of(ACCOUNT, lost) == ("lost",)
    assert not lists.is_durable
    assert lists.size_bytes(ACCOUNT) == both_bytes
    finish(lists.write())
    assert AttributeLists(store.documents).names_of(ACCOUNT, lost) == ("lost",)
    store.close_now()
