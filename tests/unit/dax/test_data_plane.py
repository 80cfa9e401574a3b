"""Every method of the protocol, on the wire: what it does, what the caches know then, and what is consumed."""

from decimal import Decimal
from typing import Any

import cbor2
import pytest
from botocore.exceptions import ClientError

from hashrange.testing import Database
from hashrange.wire.dax.lex_decimal import write_lex_decimal
from hashrange.wire.dax.reading import NUMBERED_KEYS_MAX
from tests.support.dax_client import DaxClient, DaxError, all_values, expression, path, value

TABLE = b"music"
TOTAL = {3: 1}


def key(artist: str = "Nina", number: bytes = b"\xc1\x1c\x00\x00") -> bytes:
    """A key of the table; the number is 1 as LexDecimal."""
    return cbor2.dumps(artist) + number


def put(dax: DaxClient, artist: str = "Nina", **attributes: Any) -> Any:
    return dax.call("putItem", TABLE, key(artist), dax.item_bytes(**attributes), None)


def get(dax: DaxClient, artist: str = "Nina", options: Any = None) -> Any:
    return dax.call("getItem", TABLE, key(artist), options)


def item(dax: DaxClient, reply: Any) -> Any:
    return None if reply is None else dax.item_of(reply[0])


def units(reply: Any) -> float:
    return float(all_values(reply[1])[1])


def refused(dax: DaxClient, method: str, *arguments: Any) -> DaxError:
    with pytest.raises(DaxError) as caught:
        dax.call(method, *arguments)
    return caught.value


# --- metadata -----------------------------------------------------------------------------------


def test_endpoints_name_the_node_that_was_reached(database: Database, dax: DaxClient) -> None:
    (endpoint,) = dax.call("endpoints")
    port = int(str(database.dax_endpoint).rpartition(":")[2])
    assert endpoint == {0: 0, 1: "127.0.0.1", 2: b"\x7f\x00\x00\x01", 3: port, 4: 1, 5: "us-east-1a", 6: 0}


def test_a_key_schema_has_the_partition_key_first(dax: DaxClient) -> None:
    schema = dax.call("defineKeySchema", TABLE)
    assert list(schema.items()) == [("artist", "S"), ("number", "N")]
    error = refused(dax, "defineKeySchema", b"films")
    assert error.codes == [4, 37, 38, 39, 41]
    assert error.info[1:] == ["ResourceNotFoundException", 400]
    assert error.message == "Requested resource not found"


def test_attribute_lists_have_ids_that_stay(database: Database, dax: DaxClient) -> None:
    first = dax.call("defineAttributeListId", ["a", "b"])
    assert dax.call("defineAttributeListId", ["a", "b"]) == first
    assert dax.call("defineAttributeList", first) == ["a", "b"]
    assert dax.call("defineAttributeListId", cbor2.CBORTag(3321, ["a", "b"])) == first, (
        "as the client for Java writes it"
    )
    assert dax.call("defineAttributeListId", []) == 1
    assert dax.call("defineAttributeList", 1) == []
    assert dax.call("defineAttributeListId", ["c"]) not in (1, first)
    database.reset()
    assert dax.call("defineAttributeList", first) == ["a", "b"], "clients keep ids as long as they run"
    assert refused(dax, "defineAttributeList", 99).codes == [4, 37, 38, 39, 46]
    assert refused(dax, "defineAttributeListId", [1]).codes == [4, 37, 38, 39, 46]


# --- single items -------------------------------------------------------------------------------


def test_an_item_is_read_once_and_known_then(direct: Any, dax: DaxClient) -> None:
    assert get(dax, options=TOTAL)[1] is not None
    assert units(get(dax, options=TOTAL)) == 0, "there is no such item, which is known too"
    direct.put_item(TableName="music", Item={"artist": {"S": "Nina"}, "number": {"N": "1"}, "x": {"S": "past DAX"}})
    assert item(dax, get(dax)) is None, "a write past DAX is not seen"
    fresh = get(dax, options={2: True, 3: 1})
    assert dax.item_of(fresh[0]) == {"x": "past DAX"}
    assert units(fresh) == 1
    assert item(dax, get(dax)) is None, "a strongly consistent read is not kept"


def test_a_write_through_dax_is_kept(direct: Any, dax: DaxClient) -> None:
    assert put(dax, year=1965, tags=cbor2.CBORTag(3321, ["b", "a"]), live=True, price=Decimal("9.90")) is None
    reply = get(dax, options=TOTAL)
    assert units(reply) == 0
    assert dax.item_of(reply[0]) == {
        "year": 1965,
        "tags": cbor2.CBORTag(3321, ["a", "b"]),
        "live": True,
        "price": Decimal("9.9"),
    }
    stored = direct.get_item(TableName="music", Key={"artist": {"S": "Nina"}, "number": {"N": "1"}})["Item"]
    assert stored["price"] == {"N": "9.9"}
    changed = dax.call(
        "updateItem",
        TABLE,
        key(),
        {8: expression([[19, path("year"), [25, path("year"), value(0)]], [22, path("live")]], 2), 7: 5},
    )
    assert all_values(changed[2])[1:] == [{0: 1967}]
    assert item(dax, get(dax))["year"] == 1967
    old = dax.call("deleteItem", TABLE, key(), {7: 2, 3: 2})
    assert dax.item_of(old[2])["year"] == 1967
    assert all_values(old[1]) == ["music", 1, 1, None, None]
    assert units(get(dax, options=TOTAL)) == 0.5, "a deleted item is read again"


def test_equal_numbers_in_keys_are_one_item(dax: DaxClient) -> None:
    put(dax, x=1)
    longer_head = b"\x78\x04Nina" + b"\xc1\x1c\x00\x00"
    reply = dax.call("getItem", TABLE, longer_head, TOTAL)
    assert dax.item_of(reply[0]) == {"x": 1}
    assert units(reply) == 0


def test_a_projection_has_the_values_by_their_places(direct: Any, dax: DaxClient) -> None:
    put(dax, m={"list": [1, [2, 3]]}, n=5)
    projection = expression([path("m", "list", 1, 0), path("absent"), path("n"), path("artist"), path("m", "list", 9)])
    assert get(dax, options={0: projection}) == {0: {0: 2, 2: 5, 3: "Nina"}}
    assert dax.call("getItem", TABLE, key(), {0: projection, 2: True}) == {0: {0: 2, 2: 5, 3: "Nina"}}
    direct.put_item(TableName="music", Item={"artist": {"S": "Ella"}, "number": {"N": "1"}, "n": {"N": "7"}})
    assert get(dax, "Ella", {0: projection}) == {0: {2: 7, 3: "Ella"}}
    assert units(get(dax, "Ella", TOTAL)) == 0, "the whole item was kept"
    overlap = expression([path("m"), path("m", "list")])
    assert "overlap" in refused(dax, "getItem", TABLE, key(), {0: overlap}).message


def test_conditions(dax: DaxClient) -> None:
    put(dax, n=1)
    condition = expression([0, path("n"), value(0)], 2)
    error = refused(dax, "putItem", TABLE, key(), dax.item_bytes(n=3), {4: condition})
    assert error.codes == [4, 37, 38, 39, 43]
    assert error.info[1] == "ConditionalCheckFailedException"
    assert item(dax, get(dax)) == {"n": 1}, "a refused write leaves the cache as it is"
    dax.call("putItem", TABLE, key(), dax.item_bytes(n=3), {4: expression([0, path("n"), value(0)], 1)})
    assert item(dax, get(dax)) == {"n": 3}


def test_returned_values(dax: DaxClient) -> None:
    put(dax, a=1, b=2)
    update = expression([[19, path("a"), value(0)]], 5)
    assert all_values(dax.call("updateItem", TABLE, key(), {8: update, 7: 3})[2])[1:] == [{0: 1}]
    assert dax.item_of(dax.call("updateItem", TABLE, key(), {8: update, 7: 4})[2]) == {"a": 5, "b": 2}
    assert dax.item_of(dax.call("updateItem", TABLE, key(), {8: update, 7: 2})[2]) == {"a": 5, "b": 2}
    assert dax.call("updateItem", TABLE, key(), {8: update, 7: 1}) is None
    assert dax.call("putItem", TABLE, key("Ella"), b"\x01", {7: 2}) is None, "there was no item"
    assert item(dax, get(dax, "Ella")) == {}


# --- queries and scans --------------------------------------------------------------------------


def fill(dax: DaxClient) -> None:
    for number in (1, 2, 3):
        put_number(dax, number)


def put_number(dax: DaxClient, number: int, **attributes: Any) -> None:
    raw = cbor2.dumps("Nina") + write_lex_decimal(str(number))
    dax.call("putItem", TABLE, raw, dax.item_bytes(genre="soul", n=number, **attributes), None)


def numbers(dax: DaxClient, reply: Any) -> list[int]:
    return [dax.item_of(content)["n"] for _, content in reply[7]]


QUERY = expression([0, path("artist"), value(0)], "Nina")


def test_a_query_is_kept_with_all_its_parameters(direct: Any, dax: DaxClient) -> None:
    fill(dax)
    reply = dax.call("query", TABLE, QUERY, TOTAL)
    assert numbers(dax, reply) == [1, 2, 3]
    assert (reply[8], reply[10], units(reply)) == (3, 3, 0.5)
    put_number(dax, 4)
    again = dax.call("query", TABLE, QUERY, TOTAL)
    assert (numbers(dax, again), units(again)) == ([1, 2, 3], 0), "a write does not end the life of a reply"
    assert numbers(dax, dax.call("query", TABLE, QUERY, {13: 10})) == [1, 2, 3, 4]
    assert numbers(dax, dax.call("query", TABLE, QUERY, {2: 1})) == [1, 2, 3, 4]
    assert numbers(dax, dax.call("query", TABLE, QUERY, {14: 0})) == [4, 3, 2, 1]
    assert dax.call("query", TABLE, QUERY, {15: 3}) == {8: 4, 10: 4}
    del direct


def test_a_kept_reply_ends_with_its_life(database: Database, dax: DaxClient) -> None:
    database.clock.freeze()
    fill(dax)
    dax.call("scan", TABLE, None)
    put_number(dax, 4)
    database.clock.advance(299)
    assert len(dax.call("scan", TABLE, None)[7]) == 3
    database.clock.advance(1)
    assert len(dax.call("scan", TABLE, None)[7]) == 4


def test_pages_of_a_query_and_of_an_index(dax: DaxClient) -> None:
    fill(dax)
    first = dax.call("query", TABLE, QUERY, {13: 2})
    assert numbers(dax, first) == [1, 2]
    rest = dax.call("query", TABLE, QUERY, {13: 2, 9: first[9]})
    assert (numbers(dax, rest), 9 in rest) == ([3], False)
    genre = expression([0, path("genre"), value(0)], "soul")
    page = dax.call("query", TABLE, genre, {11: b"genres", 13: 2})
    assert cbor2.loads(page[9]) == {"genre": "soul", "artist": "Nina", "number": 2}
    assert page[9][:1] == b"\xbf", "clients read no other form"
    left = dax.call("query", TABLE, genre, {11: b"genres", 9: page[9]})
    assert [dax.item_of(content) for _, content in left[7]] == [{"genre": "soul"}]


def test_a_filter_and_a_projection(dax: DaxClient) -> None:
    fill(dax)
    put_number(dax, 4, deep=[{"x": 1}, {"x": 2}])
    options = {10: expression([4, path("n"), value(0)], 2), 0: expression([path("deep", 1, "x"), path("n")])}
    reply = dax.call("query", TABLE, QUERY, options)
    assert reply[7] == [{1: 3}, {0: 2, 1: 4}]
    assert (reply[8], reply[10]) == (2, 4)
    key_path = expression([path("artist", "x")])
    assert "artist" in refused(dax, "query", TABLE, QUERY, {0: key_path}).message


def test_all_attributes_means_nothing_chosen(dax: DaxClient) -> None:
    """The client in Go sends ALL_ATTRIBUTES if its caller has chosen nothing, which DynamoDB refuses for these two."""
    fill(dax)
    assert dax.call("query", TABLE, QUERY, {15: 1, 0: expression([path("n")])})[7] == [{0: 1}, {0: 2}, {0: 3}]
    genre = expression([0, path("genre"), value(0)], "soul")
    assert dax.call("query", TABLE, genre, {11: b"genres", 15: 1})[8] == 3


def test_a_scan_in_segments(dax: DaxClient) -> None:
    fill(dax)
    found = [numbers(dax, dax.call("scan", TABLE, {16: segment, 17: 2})) for segment in (0, 1)]
    assert sorted(found) == [[], [1, 2, 3]]
    error = refused(dax, "scan", TABLE, {16: 5, 17: 2})
    assert error.info[1] == "ValidationException"
    assert "TotalSegments" in error.message
    assert "Limit" in refused(dax, "scan", TABLE, {13: 0}).message


# --- batches and transactions -------------------------------------------------------------------


def test_a_batch_reads_what_is_not_known(direct: Any, dax: DaxClient) -> None:
    put(dax, n=1)
    direct.put_item(TableName="music", Item={"artist": {"S": "Ella"}, "number": {"N": "1"}, "n": {"N": "2"}})
    keys = [key(name) for name in ("Nina", "Ella", "Nobody")]
    found, left, consumed = read_batch(dax, keys)
    assert [dax.item_of(content)["n"] for content in found[1::2]] == [1, 2]
    assert found[::2] == keys[:2]
    assert left == {}
    assert [all_values(one)[:2] for one in consumed] == [["music", 1]]
    assert read_batch(dax, keys)[2] == [], "all are known now"
    projected, _ = dax.call("batchGetItem", {"music": [False, expression([path("n")]), keys]}, None)
    assert projected[0] == {"music": [{0: 1}, {0: 2}]}
    assert "duplicates" in refused(dax, "batchGetItem", {"music": [False, None, [key(), key()]]}, None).message
    assert refused(dax, "batchGetItem", {}, None).info[1] == "ValidationException"


def read_batch(dax: DaxClient, keys: list[bytes]) -> tuple[Any, Any, Any]:
    (responses, left), consumed = dax.call("batchGetItem", {"music": [False, None, keys]}, TOTAL)
    return responses["music"], left, consumed


def test_a_batch_of_writes(dax: DaxClient) -> None:
    put(dax, n=1)
    left, consumed, collections = dax.call(
        "batchWriteItem", {"music": [key(), None, key("Ella"), dax.item_bytes(n=2)]}, TOTAL
    )
    assert (left, collections) == ({}, {})
    assert [all_values(one)[:2] for one in consumed] == [["music", 2]]
    assert item(dax, get(dax)) is None
    reply = get(dax, "Ella", TOTAL)
    assert (dax.item_of(reply[0]), units(reply)) == ({"n": 2}, 0)


def transact(dax: DaxClient, *actions: tuple[int, str, Any, Any, Any], options: Any = None) -> Any:
    """Write: (operation, artist, item or None, condition or None, update or None)."""
    return dax.call(
        "transactWriteItems",
        [one[0] for one in actions],
        [TABLE] * len(actions),
        [key(one[1]) for one in actions],
        [one[2] for one in actions],
        None,
        [2] * len(actions),
        [one[3] for one in actions],
        [one[4] for one in actions],
        options,
    )


def test_a_transaction_writes_and_its_items_are_known(dax: DaxClient) -> None:
    put(dax, n=1)
    update = expression([[19, path("n"), value(0)]], 7)
    exists = expression([12, path("artist")])
    ignored, consumed, collections = transact(
        dax, (9, "Nina", None, None, update), (2, "Ella", dax.item_bytes(n=2), exists, None), options=TOTAL
    )
    assert (ignored, collections) == ([], {})
    assert consumed == [{1: 4, 3: 4, 4: "music"}]
    for artist, number in (("Nina", 7), ("Ella", 2)):
        reply = get(dax, artist, TOTAL)
        assert (dax.item_of(reply[0])["n"], units(reply)) == (number, 0)
    items, consumed = dax.call(
        "transactGetItems",
        [TABLE] * 3,
        [key("Nina"), key("Ella"), key("Nobody")],
        [None, expression([path("n")]), None],
        TOTAL,
    )
    assert (dax.item_of(items[0]), items[1:]) == ({"n": 7}, [{0: 2}, None])
    assert consumed[0][1] == 6


def test_a_cancelled_transaction_names_its_reasons(dax: DaxClient) -> None:
    put(dax, n=1)
    exists, missing = expression([11, path("artist")]), expression([12, path("artist")])
    error = refused_transaction(
        dax,
        (12, "Nina", None, exists, None),
        (7, "Nina2", None, exists, None),
        (2, "Nina", dax.item_bytes(n=5), missing, None),
    )
    assert error.info[1] == "ValidationException", "an item may be named once"
    error = refused_transaction(dax, (7, "Ella", None, None, None), (2, "Nina", dax.item_bytes(n=5), missing, None))
    assert error.codes == [4, 37, 38, 39, 58]
    assert error.info[3][:3] == ["None", None, None]
    assert error.info[3][3:5] == ["ConditionalCheckFailed", "The conditional request failed"]
    assert dax.item_of(error.info[3][5]) == {"n": 1}
    assert item(dax, get(dax)) == {"n": 1}


def refused_transaction(dax: DaxClient, *actions: Any) -> DaxError:
    with pytest.raises(DaxError) as caught:
        transact(dax, *actions)
    return caught.value


def test_a_token_makes_a_transaction_happen_once(dax: DaxClient) -> None:
    update = expression([[20, path("n"), value(0)]], 1)
    for _ in range(2):
        transact(dax, (9, "Nina", None, None, update), options={19: "token"})
    assert item(dax, get(dax)) == {"n": 1}
    other = expression([[20, path("n"), value(0)]], 2)
    with pytest.raises(DaxError) as caught:
        transact(dax, (9, "Nina", None, None, other), options={19: "token"})
    assert caught.value.codes == [4, 37, 38, 39, 60]


# --- several requests at a time -----------------------------------------------------------------


def test_requests_in_flight_are_answered_in_their_order(dax: DaxClient) -> None:
    contents = [dax.item_bytes(n=number) for number in range(20)]
    for content in contents:
        dax.send("putItem", TABLE, key(), content, None)
        dax.send("getItem", TABLE, key(), None)
    for number in range(20):
        assert dax.receive("putItem") is None
        assert all_values(dax.receive("getItem")[0])[1:] == [number]


def test_a_malformed_part_is_answered_and_the_connection_goes_on(dax: DaxClient) -> None:
    for arguments in (
        (TABLE, b"\x64Ni", None),
        (TABLE, 5, None),
        (5, key(), None),
        (TABLE, key(), 5),
        (TABLE, key(), {7: 9, 3: 9}),
        (b"\xff", key(), None),
    ):
        assert refused(dax, "getItem", *arguments).codes == [4, 37, 38, 39, 46]
    assert refused(dax, "putItem", TABLE, key(), b"\x01\x01", None).info[1] == "ValidationException"
    assert refused(dax, "transactWriteItems", [2], [TABLE], [], [], None, [], [], [], None).codes[0] == 4
    assert dax.call("defineKeySchema", TABLE)


@pytest.mark.parametrize("name", ["a b", "ab", "x" * 1_025, "arn:aws:dynamodb:a"])
def test_a_name_that_no_table_may_have_is_refused_as_directly(dax: DaxClient, direct: Any, name: str) -> None:
    with pytest.raises(ClientError) as refused:
        direct.get_item(TableName=name, Key={"artist": {"S": "a"}})
    for method, arguments in (
        ("defineKeySchema", [name.encode()]),
        ("getItem", [name.encode(), b"a", None]),
        ("batchGetItem", [{name.encode(): [False, None, b"a"]}, None]),
    ):
        with pytest.raises(DaxError) as caught:
            dax.call(method, *arguments)
        assert caught.value.message == refused.value.response["Error"]["Message"]


@pytest.mark.parametrize("options", [{9: [1]}, {9: {}}, {"a": 1, 9: 1}])
def test_options_of_unexpected_types_are_refused(dax: DaxClient, options: Any) -> None:
    with pytest.raises(DaxError, match="malformed"):
        dax.call("scan", TABLE, options)


def test_options_that_no_client_sends_are_passed_over(dax: DaxClient) -> None:
    plain = dax.call("scan", TABLE, None)
    assert dax.call("scan", TABLE, dict.fromkeys(range(100, 100 + NUMBERED_KEYS_MAX), 1)) == plain
    assert dax.call("scan", TABLE, {f"{place}": 1 for place in range(200)}) == plain
