"""A table's name and its ARN are one table: an item, a reply and that there is none are kept once,
whatever names the table.
"""

from typing import Any

import cbor2
import pytest

from hashrange.testing import Database
from tests.support.dax_client import DaxClient, DaxError, authorization, expression, path, value

NAME = b"music"
ARN = b"arn:aws:dynamodb:eu-west-1:000000000000:table/music"
KEY = cbor2.dumps("Nina") + b"\xc1\x1c\x00\x00"
QUERY = expression([0, path("artist"), value(0)], "Nina")


@pytest.fixture(params=[(NAME, ARN), (ARN, NAME)], ids=["name", "arn"])
def names(request: pytest.FixtureRequest) -> tuple[bytes, bytes]:
    """How a table is named first, and how afterwards."""
    found: tuple[bytes, bytes] = request.param
    return found


def read(dax: DaxClient, table: bytes) -> Any:
    """The attribute `n` of the item; None if there is none."""
    reply = dax.call("getItem", table, KEY, None)
    return None if reply is None else dax.item_of(reply[0])["n"]


def put_directly(direct: Any, number: int) -> None:
    direct.put_item(TableName="music", Item={"artist": {"S": "Nina"}, "number": {"N": "1"}, "n": {"N": str(number)}})


def test_writes_by_one_are_seen_by_the_other(dax: DaxClient, names: tuple[bytes, bytes]) -> None:
    first, second = names
    dax.call("putItem", first, KEY, dax.item_bytes(n=1), None)
    assert read(dax, second) == 1
    dax.call("putItem", second, KEY, dax.item_bytes(n=2), None)
    assert read(dax, first) == 2
    dax.call("updateItem", first, KEY, {8: expression([[19, path("n"), value(0)]], 3)})
    assert read(dax, second) == 3
    dax.call("batchWriteItem", {second: [KEY, dax.item_bytes(n=4)]}, None)
    assert read(dax, first) == 4
    nones = [[None]] * 3
    dax.call("transactWriteItems", [2], [first], [KEY], [dax.item_bytes(n=5)], None, *nones, None)
    while read(dax, second) != 5:
        pass  # the items of a transaction are read again after its reply
    dax.call("deleteItem", first, KEY, None)
    assert read(dax, second) is None
    dax.call("putItem", second, KEY, dax.item_bytes(n=6), None)
    assert read(dax, first) == 6
    dax.call("batchWriteItem", {first: [KEY, None]}, None)
    assert read(dax, second) is None


def test_what_was_read_by_one_is_known_by_the_other(dax: DaxClient, direct: Any, names: tuple[bytes, bytes]) -> None:
    first, second = names
    assert read(dax, first) is None
    put_directly(direct, 1)
    assert read(dax, second) is None, "that there was none is kept"
    assert dax.call("batchGetItem", {second: [False, None, [KEY]]}, None)[0][0][second.decode()] == []
    dax.call("putItem", second, KEY, dax.item_bytes(n=2), None)
    put_directly(direct, 3)
    (found,) = dax.call("batchGetItem", {first: [False, None, [KEY]]}, None)[0][0].values()
    assert dax.item_of(found[1]) == {"n": 2}
    assert dax.call("getItem", second, KEY, {3: 1})[0] == found[1]
    assert dax.call("getItem", first, KEY, {2: True})[0] != found[1]


def test_replies_of_pages_are_kept_once(dax: DaxClient, direct: Any, names: tuple[bytes, bytes]) -> None:
    first, second = names
    for method, arguments in (("query", (QUERY, None)), ("scan", (None,))):
        assert dax.call(method, first, *arguments)[8] == 0
        put_directly(direct, 1)
        assert dax.call(method, second, *arguments)[8] == 0
        direct.delete_item(TableName="music", Key={"artist": {"S": "Nina"}, "number": {"N": "1"}})


def test_other_arns_do_not_find_what_is_kept(dax: DaxClient, names: tuple[bytes, bytes]) -> None:
    dax.call("putItem", names[0], KEY, dax.item_bytes(n=1), None)
    assert dax.call("scan", names[0], None)[8] == 1
    for other in (
        ARN.replace(b"000000000000", b"444455556666"),
        ARN.replace(b"eu-west-1", b"us-east-1"),
        ARN.replace(b"table/", b"index/"),
        ARN + b"2",
        b"x:" + ARN,
    ):
        for call in (("getItem", other, KEY, None), ("scan", other, None), ("query", other, QUERY, None)):
            with pytest.raises(DaxError, match=r"ResourceNotFoundException|ValidationException"):
                dax.call(*call)


def test_the_same_name_in_another_account_is_another_table(database: Database, dax: DaxClient) -> None:
    dax.call("putItem", NAME, KEY, dax.item_bytes(n=1), None)
    with DaxClient(str(database.dax_endpoint), authorize=authorization("444455556666")) as other:
        for table in (NAME, ARN):
            with pytest.raises(DaxError, match="ResourceNotFoundException"):
                other.call("getItem", table, KEY, None)


def test_items_of_a_deleted_table_are_kept_until_their_lives_end(
    database: Database, dax: DaxClient, direct: Any, names: tuple[bytes, bytes]
) -> None:
    """Also when the table is made again: no write but one through the node ends an entry."""
    first, second = names
    dax.call("putItem", first, KEY, dax.item_bytes(n=1), None)
    described = direct.describe_table(TableName="music")["Table"]
    direct.delete_table(TableName="music")
    assert [read(dax, name) for name in (first, second)] == [1, 1]
    direct.create_table(
        TableName="music",
        KeySchema=described["KeySchema"],
        AttributeDefinitions=described["AttributeDefinitions"][:2],
        BillingMode="PAY_PER_REQUEST",
    )
    assert [read(dax, name) for name in (first, second)] == [1, 1]
    database.clock.advance(300)
    assert [read(dax, name) for name in (first, second)] == [None, None]
