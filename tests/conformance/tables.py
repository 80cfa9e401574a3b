"""What the control-plane tests share: requests for tables, faults as (code, message), names that no other test uses."""

from itertools import count
from typing import Any

from tests.support.raw_client import RawClient

INVALID = "One or more parameter values were invalid: "
_numbers = count(1)


def fresh_name(start: str = "table") -> str:
    """A table name that no other test uses."""
    return f"{start}-{next(_numbers)}-control"


def create_request(name: str, **members: Any) -> dict[str, Any]:
    """A CreateTable of a table with the partition key `id`, on demand by default; None omits a member."""
    request = {
        "TableName": name,
        "AttributeDefinitions": definitions("id"),
        "KeySchema": keys("id"),
        "BillingMode": "PAY_PER_REQUEST",
    } | members
    return {member: value for member, value in request.items() if value is not None}


def definitions(*names: str) -> list[dict[str, str]]:
    """AttributeDefinitions of string attributes."""
    return [{"AttributeName": name, "AttributeType": "S"} for name in names]


def keys(hash_name: str, range_name: str | None = None) -> list[dict[str, str]]:
    """A KeySchema."""
    schema = [{"AttributeName": hash_name, "KeyType": "HASH"}]
    if range_name is not None:
        schema.append({"AttributeName": range_name, "KeyType": "RANGE"})
    return schema


def units(read: int, write: int) -> dict[str, int]:
    """A ProvisionedThroughput."""
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": write}


def index(name: str = "index", hash_name: str = "id", range_name: str | None = None, **members: Any) -> dict[str, Any]:
    """An index that projects all attributes."""
    return {
        "IndexName": name,
        "KeySchema": keys(hash_name, range_name),
        "Projection": {"ProjectionType": "ALL"},
    } | members


def fault(raw: RawClient, operation: str, request: dict[str, Any]) -> tuple[str, str | None]:
    """Code and message of a refusal; fails when the request succeeds."""
    reply = raw(operation, request)
    assert reply.status == 400, reply.body
    body = reply.json()
    return body["__type"].partition("#")[2], body.get("message", body.get("Message"))


def validation(raw: RawClient, operation: str, request: dict[str, Any]) -> str | None:
    """Message of a ValidationException."""
    code, message = fault(raw, operation, request)
    assert code == "ValidationException", (code, message)
    return message


def tags(count: int, start: int = 0) -> list[dict[str, str]]:
    """This many tags with ascending keys."""
    return [{"Key": f"key{number:03}", "Value": str(number)} for number in range(start, start + count)]


def tagged_table(client: Any) -> str:
    """ARN of a new table without tags."""
    return str(client.create_table(**create_request(fresh_name()))["TableDescription"]["TableArn"])
