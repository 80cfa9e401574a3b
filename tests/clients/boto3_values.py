"""What do the two boto3 shops share? The table, and the conversion between values and the forms in story.json."""

import base64
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from boto3.dynamodb.types import Binary, TypeDeserializer, TypeSerializer
from botocore.exceptions import ClientError

TABLE = "shop"
TABLE_OPTIONS: Any = {
    "TableName": TABLE,
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "S"},
        {"AttributeName": "status", "AttributeType": "S"},
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by_status",
            "KeySchema": [
                {"AttributeName": "status", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
}
NEW_INDEXES: Any = {
    "by_email": {
        "IndexName": "by_email",
        "KeySchema": [{"AttributeName": "email", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["name"]},
    },
    "by_product": {
        "IndexName": "by_product",
        "KeySchema": [
            {"AttributeName": "product", "KeyType": "HASH"},
            {"AttributeName": "quantity", "KeyType": "RANGE"},
        ],
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    },
}
"""Indexes that a running shop adds to its table."""
KEY_TYPES = {"email": "S", "product": "S", "quantity": "N"}
POLL_SECONDS = 0.05
BATCH_GET_MAX = 100
BATCH_WRITE_MAX = 25
THREADS = 4


def plain(value: Any) -> Any:
    """JSON's own values: short numbers as numbers, long ones as text, sets as sorted lists, bytes as base64."""
    if isinstance(value, Decimal):
        return plain_number(value)
    if isinstance(value, Mapping):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    if isinstance(value, set):
        return sorted(plain(inner) for inner in value)
    if isinstance(value, Binary):
        return base64.b64encode(value.value).decode()
    return value


def plain_number(number: Decimal) -> Any:
    """A JSON number when a double holds it exactly as written."""
    if number == number.to_integral_value() and abs(number) < 2**53:
        return int(number)
    return float(number) if Decimal(repr(float(number))) == number else f"{number:f}"


def numbers_of(value: Any) -> Any:
    """The same value with Decimals for floats, as boto3 requires."""
    if isinstance(value, float):
        return Decimal(repr(value))
    if isinstance(value, dict):
        return {name: numbers_of(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [numbers_of(inner) for inner in value]
    return value


def wire(value: Any) -> Any:
    """A Python value in wire form, {"S": …} and so on."""
    return TypeSerializer().serialize(numbers_of(value))


def item_of(values: dict[str, Any]) -> dict[str, Any]:
    """An item, or a key, in wire form."""
    return {name: wire(value) for name, value in values.items()}


def values_of(item: dict[str, Any]) -> dict[str, Any]:
    """The plain values of an item in wire form."""
    return {name: plain(TypeDeserializer().deserialize(value)) for name, value in item.items()}


def new_index(name: str) -> dict[str, Any]:
    """Arguments of UpdateTable that add an index."""
    index = NEW_INDEXES[name]
    names = [part["AttributeName"] for part in index["KeySchema"]]
    return {
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": KEY_TYPES[name]} for name in names],
        "GlobalSecondaryIndexUpdates": [{"Create": index}],
    }


def shares(values: list[Any], size: int) -> list[list[Any]]:
    """The values in lists of at most `size`."""
    return [values[start : start + size] for start in range(0, len(values), size)]


def cancelled(error: ClientError, name: str) -> Any:
    """Result of a cancelled transaction: code of each action, and the number `name` of the returned items."""
    response: Any = error.response
    reasons = response["CancellationReasons"]
    return {
        "cancelled": [reason["Code"] for reason in reasons],
        "because": next(reason["Message"] for reason in reasons if reason["Code"] != "None"),
        name: [int(reason["Item"][name]["N"]) for reason in reasons if "Item" in reason],
        "message": response["Error"]["Message"],
    }


def mistake(call: Any) -> str:
    """`Code: message` of the error that a call raises."""
    try:
        call()
    except ClientError as error:
        return f"{error.response['Error']['Code']}: {error.response['Error']['Message']}"
    return "no error"
