"""What do the two boto3 shops share? The table, and how values are turned into what stands in story.json, and back."""

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
    ],
    "BillingMode": "PAY_PER_REQUEST",
}
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
    """The same value with Decimals for floats, which boto3 asks for."""
    if isinstance(value, float):
        return Decimal(repr(value))
    if isinstance(value, dict):
        return {name: numbers_of(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [numbers_of(inner) for inner in value]
    return value


def wire(value: Any) -> Any:
    """{"S": …} and so on, of a Python value."""
    return TypeSerializer().serialize(numbers_of(value))


def item_of(values: dict[str, Any]) -> dict[str, Any]:
    """An item, or a key, in wire form."""
    return {name: wire(value) for name, value in values.items()}


def values_of(item: dict[str, Any]) -> dict[str, Any]:
    """The plain values of an item in wire form."""
    return {name: plain(TypeDeserializer().deserialize(value)) for name, value in item.items()}


def mistake(call: Any) -> str:
    """`Code: message` of the error that a call ends with."""
    try:
        call()
    except ClientError as error:
        return f"{error.response['Error']['Code']}: {error.response['Error']['Message']}"
    return "no error"
