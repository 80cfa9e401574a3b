"""What the data-plane tests share: tables by their key types, keys that no other test uses,
short forms of values and refusals.
"""

from itertools import count
from typing import Any, NamedTuple

from tests.conformance.tables import fault, fresh_name, validation
from tests.support.raw_client import RawClient

ENVELOPE = "1 validation error detected: "
INVALID = "One or more parameter values were invalid: "
NOT_VALID = "One or more parameter values are not valid. "
NOT_FOUND = ("ResourceNotFoundException", "Requested resource not found")
CONDITION_FAILED = ("ConditionalCheckFailedException", "The conditional request failed")
ITEM_MAX_BYTES = 409_600

Value = dict[str, Any]
Item = dict[str, Value]
_numbers = count(1)


class DataTable(NamedTuple):
    """A table for items: partition key `pk` and, if there is a range type, sort key `sk`."""

    raw: RawClient
    name: str
    arn: str

    def ask(self, operation: str, **members: Any) -> Any:
        """The reply to a request, which must succeed."""
        reply = self.raw(operation, {"TableName": self.name} | members)
        assert reply.status == 200, (operation, reply.body)
        return reply.json()

    def put(self, item: Item, **members: Any) -> Any:
        return self.ask("PutItem", Item=item, **members)

    def get(self, key: Item, **members: Any) -> Item | None:
        """The item as stored, read consistently."""
        item: Item | None = self.ask("GetItem", Key=key, ConsistentRead=True, **members).get("Item")
        return item

    def update(self, key: Item, expression: str | None = None, **members: Any) -> Any:
        if expression is not None:
            members["UpdateExpression"] = expression
        return self.ask("UpdateItem", Key=key, **members)

    def query(self, condition: str = "pk = :pk", **members: Any) -> Any:
        return self.ask("Query", KeyConditionExpression=condition, **members)

    def fault(self, operation: str, **members: Any) -> tuple[str, str | None]:
        """Code and message of a refusal."""
        return fault(self.raw, operation, {"TableName": self.name} | members)

    def refusal(self, operation: str, **members: Any) -> str | None:
        """Message of a ValidationException."""
        return validation(self.raw, operation, {"TableName": self.name} | members)


def make_table(
    raw: RawClient, partition: str = "S", sort: str | None = None, names: tuple[str, str] = ("pk", "sk"), **members: Any
) -> DataTable:
    """Create a table with keys of these types."""
    types = [(names[0], partition, "HASH")] + ([(names[1], sort, "RANGE")] if sort else [])
    request: dict[str, Any] = {
        "TableName": fresh_name("items"),
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": kind} for name, kind, _ in types],
        "KeySchema": [{"AttributeName": name, "KeyType": role} for name, _, role in types],
        "BillingMode": "PAY_PER_REQUEST",
    }
    extra = members.pop("definitions", {})
    request["AttributeDefinitions"] += [{"AttributeName": name, "AttributeType": kind} for name, kind in extra.items()]
    reply = raw("CreateTable", request | members)
    assert reply.status == 200, reply.body
    return DataTable(raw, request["TableName"], reply.json()["TableDescription"]["TableArn"])


def fresh_key(name: str = "pk") -> Item:
    """A string key that no other test uses."""
    return {name: {"S": f"key-{next(_numbers)}"}}


def text(value: str) -> Value:
    return {"S": value}


def number(value: object) -> Value:
    return {"N": str(value)}


def nested(levels: int, innermost: Value | None = None) -> Value:
    """A value inside this many nested lists."""
    value = innermost or text("x")
    for _ in range(levels):
        value = {"L": [value]}
    return value
