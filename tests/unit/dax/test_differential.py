"""The same random operations through DAX and directly: equal results; with caches that keep,
every stale answer is one that the rules allow.
"""

import random
from typing import Any

import pytest

from hashrange.items.values import check_item
from hashrange.settings import Settings
from hashrange.testing import Database, server
from hashrange.wire.dax.attribute_values import attribute_value_of, write_attribute_value
from hashrange.wire.dax.keys import KeyAttribute, key_bytes, read_dax_item, read_key
from hashrange.wire.dax.reading import CborReader
from tests.support.dax_client import DaxClient, DaxError, expression, path, value

ARTISTS = ["Nina", "Ella", "Ünü"]
SCHEMA = [KeyAttribute("artist", "S"), KeyAttribute("number", "N")]


class Twice:
    """Runs each operation through DAX, on a table of its own, and directly on another."""

    def __init__(self, database: Database, dax: DaxClient, seed: int) -> None:
        self.chance = random.Random(seed)
        self.dax = dax
        self.direct = database.client(region_name="eu-west-1")
        for name in ("through", "straight"):
            self.direct.create_table(
                TableName=name,
                KeySchema=[
                    {"AttributeName": "artist", "KeyType": "HASH"},
                    {"AttributeName": "number", "KeyType": "RANGE"},
                ],
                AttributeDefinitions=[
                    {"AttributeName": "artist", "AttributeType": "S"},
                    {"AttributeName": "number", "AttributeType": "N"},
                ],
                BillingMode="PAY_PER_REQUEST",
            )

    def key(self) -> dict[str, Any]:
        return {"artist": {"S": self.chance.choice(ARTISTS)}, "number": {"N": str(self.chance.randrange(-1, 3))}}

    def attributes(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in self.chance.sample(["n", "m", "s", "set", "b"], self.chance.randrange(5)):
            found[name] = self.chance.choice(
                [
                    {"N": str(self.chance.randrange(5))},
                    {"S": "ä"},
                    {"M": {"x": {"L": [{"N": "1.5"}, {"BOOL": True}]}}},
                    {"NS": ["1", "20"]},
                    {"B": b"\x00\xff"},
                    {"NULL": True},
                ]
            )
        return found

    def raw_key(self, key: dict[str, Any]) -> bytes:
        return key_bytes(SCHEMA, key)

    def raw_item(self, attributes: dict[str, Any]) -> bytes:
        names = sorted(attributes)
        list_id = self.dax.call("defineAttributeListId", names) if names else 1
        out = bytearray(write_of(list_id))
        for name in names:
            write_attribute_value(out, check_item(as_json({name: attributes[name]}))[0][name])
        return bytes(out)

    def item(self, key: dict[str, Any], raw: bytes) -> dict[str, Any]:
        return check_item(
            {
                **key,
                **read_dax_item(
                    raw, lambda number: self.dax.call("defineAttributeList", number) if number != 1 else []
                ),
            }
        )[0]

    def both(self, through: Any, straight: Any) -> None:
        """Compare results, or errors, of one operation."""
        try:
            expected = straight()
        except self.direct.exceptions.ClientError as error:
            with pytest.raises(DaxError) as caught:
                through()
            assert caught.value.info[1] == error.response["Error"]["Code"]
            assert caught.value.message == error.response["Error"]["Message"]
            return
        assert through() == expected

    # --- operations -----------------------------------------------------------------------------

    def put(self) -> None:
        key, attributes = self.key(), self.attributes()
        is_conditional = self.chance.random() < 0.3
        options: Any = {7: 2}
        members: dict[str, Any] = {"ReturnValues": "ALL_OLD"}
        if is_conditional:
            options[4] = expression([7, [12, path("artist")], [4, path("n"), value(0)]], 2)
            members["ConditionExpression"] = "attribute_not_exists(artist) OR n > :n"
            members["ExpressionAttributeValues"] = {":n": {"N": "2"}}
        self.both(
            lambda: self.attributes_of(
                key, self.dax.call("putItem", b"through", self.raw_key(key), self.raw_item(attributes), options)
            ),
            lambda: plain(
                self.direct.put_item(TableName="straight", Item={**key, **attributes}, **members).get("Attributes")
            ),
        )

    def attributes_of(self, key: dict[str, Any], reply: Any) -> Any:
        return None if reply is None or 2 not in reply else self.item(key, reply[2])

    def update(self) -> None:
        key = self.key()
        tree = [[19, path("n"), [25, [23, path("n"), value(0)], value(1)]], [22, path("m", "x", 0)]]
        self.both(
            lambda: self.attributes_of(
                key, self.dax.call("updateItem", b"through", self.raw_key(key), {8: expression(tree, 0, 1), 7: 4})
            ),
            lambda: plain(
                self.direct.update_item(
                    TableName="straight",
                    Key=key,
                    UpdateExpression="SET n = if_not_exists(n, :z) + :o REMOVE m.x[0]",
                    ExpressionAttributeValues={":z": {"N": "0"}, ":o": {"N": "1"}},
                    ReturnValues="ALL_NEW",
                )["Attributes"]
            ),
        )

    def delete(self) -> None:
        key = self.key()
        self.both(
            lambda: self.attributes_of(key, self.dax.call("deleteItem", b"through", self.raw_key(key), {7: 2})),
            lambda: plain(
                self.direct.delete_item(TableName="straight", Key=key, ReturnValues="ALL_OLD").get("Attributes")
            ),
        )

    def get(self) -> None:
        key, consistent = self.key(), self.chance.random() < 0.5
        options = {2: True} if consistent else None

        def through() -> Any:
            reply = self.dax.call("getItem", b"through", self.raw_key(key), options)
            return None if reply is None else self.item(key, reply[0])

        self.both(
            through,
            lambda: plain(self.direct.get_item(TableName="straight", Key=key, ConsistentRead=consistent).get("Item")),
        )

    def query(self) -> None:
        artist, limit, forward = (
            self.chance.choice(ARTISTS),
            self.chance.choice([1, 2, 100]),
            self.chance.random() < 0.5,
        )
        tree = [6, [0, path("artist"), value(0)], [3, path("number"), value(1)]]
        options = {2: 1, 13: limit, 14: int(forward), 10: expression([8, [11, path("s")]])}

        def through() -> Any:
            reply = self.dax.call("query", b"through", expression(tree, artist, 0), options)
            items = [self.item(read_key(SCHEMA, key), content) for key, content in reply[7]]
            last = check_item(read_key(SCHEMA, reply[9]))[0] if 9 in reply else None
            return items, reply[8], reply[10], last

        def straight() -> Any:
            reply = self.direct.query(
                TableName="straight",
                KeyConditionExpression="artist = :a AND #n >= :z",
                FilterExpression="NOT attribute_exists(s)",
                ExpressionAttributeNames={"#n": "number"},
                ExpressionAttributeValues={":a": {"S": artist}, ":z": {"N": "0"}},
                ConsistentRead=True,
                Limit=limit,
                ScanIndexForward=forward,
            )
            return (
                [plain(one) for one in reply["Items"]],
                reply["Count"],
                reply["ScannedCount"],
                reply.get("LastEvaluatedKey"),
            )

        self.both(through, straight)

    def batch(self) -> None:
        keys = [dict(key) for key in {str(key): key for key in (self.key() for _ in range(3))}.values()]
        written = {str(key): None if self.chance.random() < 0.4 else self.attributes() for key in keys}
        raw: list[Any] = []
        requests: list[Any] = []
        for key in keys:
            attributes = written[str(key)]
            if attributes is None:
                raw += [self.raw_key(key), None]
                requests.append({"DeleteRequest": {"Key": key}})
            else:
                raw += [self.raw_key(key), self.raw_item(attributes)]
                requests.append({"PutRequest": {"Item": {**key, **attributes}}})
        self.dax.call("batchWriteItem", {"through": raw}, None)
        self.direct.batch_write_item(RequestItems={"straight": requests})

        def through() -> Any:
            (responses, _), _ = self.dax.call(
                "batchGetItem", {"through": [False, None, list(map(self.raw_key, keys))]}, None
            )
            found = responses["through"]
            return in_order([self.item(read_key(SCHEMA, found[at]), found[at + 1]) for at in range(0, len(found), 2)])

        def straight() -> Any:
            reply = self.direct.batch_get_item(RequestItems={"straight": {"Keys": keys}})
            return in_order([plain(one) for one in reply["Responses"]["straight"]])

        self.both(through, straight)


def in_order(items: list[Any]) -> list[Any]:
    """Items of a batch, which come in any order."""
    return sorted(items, key=lambda item: str(sorted(item.items())))


def write_of(number: int) -> bytes:
    out = bytearray()
    write_attribute_value(out, {"N": str(number)})
    return bytes(out)


def as_json(value_of: Any) -> Any:
    """boto3's form as that of JSON: bytes as base64 text."""
    out: Any = {}
    for name, content in value_of.items():
        ((kind, inner),) = content.items()
        if kind == "B":
            raw = bytearray()
            raw += bytes([0x40 | len(inner)]) + inner
            out[name] = attribute_value_of(CborReader(bytes(raw)).value())
        elif kind == "M":
            out[name] = {"M": as_json(inner)}
        else:
            out[name] = content
    return out


def plain(item: Any) -> Any:
    """boto3's item in canonical form."""
    return None if item is None else check_item(as_json(item))[0]


@pytest.mark.parametrize("seed", range(6))
def test_random_operations_through_dax_and_directly(seed: int) -> None:
    """A node that took all writes itself knows every item as it is."""
    with server(Settings(data_dir=None, port=0, dax_port=0)) as database, DaxClient(str(database.dax_endpoint)) as dax:
        twice = Twice(database, dax, seed)
        operations = [twice.put, twice.update, twice.delete, twice.get, twice.get, twice.query, twice.batch]
        for _ in range(120):
            twice.chance.choice(operations)()
