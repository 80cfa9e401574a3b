"""Large batches and transactions are decoded piece by piece: same request as decoded at once,
and each piece has limits of its own.
"""

from typing import Any

import msgspec
import pytest

from hashrange.aws_services.operation import Operation
from hashrange.errors import ValidationException
from hashrange.operations.items.batch_write_item import WriteRequest
from hashrange.operations.operation import JsonWire
from hashrange.operations.registry import OPERATIONS
from hashrange.server.protocols.dynamodb_json.pieces import decoder_in_pieces
from hashrange.wire import body_members, piecewise

KEY = {"pk": {"S": "a"}, "sk": {"N": "1"}}
BATCHES: list[dict[str, Any]] = [
    {"RequestItems": {"Tab": [{"PutRequest": {"Item": KEY | {"l": {"L": [{"N": "1"}] * 9}}}}]}},
    {"RequestItems": {"one": [{"DeleteRequest": {"Key": KEY}}] * 3, "two": [{}]}, "ReturnConsumedCapacity": "TOTAL"},
    {"RequestItems": {"Tab": [{"PutRequest": None, "Unknown": [1]}]}, "ReturnItemCollectionMetrics": "SIZE"},
]
TRANSACTIONS: list[dict[str, Any]] = [
    {"TransactItems": [{"Put": {"TableName": "Tab", "Item": KEY}}, {"Delete": {"TableName": "Tab", "Key": KEY}}]},
    {"TransactItems": [{}], "ClientRequestToken": "token", "ReturnConsumedCapacity": "INDEXES"},
]
CASES = [("BatchWriteItem", body) for body in BATCHES] + [("TransactWriteItems", body) for body in TRANSACTIONS]


def in_pieces(record: Operation[JsonWire], body: bytes) -> Any:
    assert record.wire.element_type is not None
    return decoder_in_pieces(record.request, record.wire.element_type)(body)


@pytest.mark.parametrize(("name", "body"), CASES)
def test_pieces_make_the_same_request(name: str, body: dict[str, Any]) -> None:
    record, text = OPERATIONS[name], msgspec.json.encode(body)
    assert in_pieces(record, text) == msgspec.json.decode(text, type=record.request)


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("BatchWriteItem", {}),
        ("BatchWriteItem", {"RequestItems": {}}),
        ("BatchWriteItem", {"RequestItems": {"Tab": []}}),
        ("BatchWriteItem", {"RequestItems": {"Tab": [{}] * 26}}),
        ("BatchWriteItem", {"RequestItems": {"Tab": [{"PutRequest": {}}]}}),
        ("BatchWriteItem", {"RequestItems": {"Tab": [5]}}),
        ("TransactWriteItems", {"TransactItems": []}),
        ("TransactWriteItems", {"TransactItems": [{}] * 101}),
        ("TransactWriteItems", {"TransactItems": [{"Put": {"TableName": 5}}]}),
    ],
)
def test_what_is_no_request_is_none_in_pieces(name: str, body: dict[str, Any]) -> None:
    record, text = OPERATIONS[name], msgspec.json.encode(body)
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text, type=record.request)
    with pytest.raises(msgspec.ValidationError):
        in_pieces(record, text)


def test_a_request_without_such_elements_has_no_pieces() -> None:
    with pytest.raises(AssertionError, match="ScanRequest has no list of WriteRequest"):
        decoder_in_pieces(OPERATIONS["Scan"].request, WriteRequest)


@pytest.mark.parametrize(("name", "body"), [CASES[0], CASES[3]])
def test_each_piece_is_bounded_by_itself(name: str, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    record = OPERATIONS[name]
    member = body["RequestItems"]["Tab"] if name == "BatchWriteItem" else body["TransactItems"]
    text = msgspec.json.encode(body)
    largest = max(body_members._count_members((msgspec.json.encode(piece),)) for piece in member)
    monkeypatch.setattr(body_members, "REQUEST_MEMBERS_MAX", largest)
    in_pieces(record, text)
    monkeypatch.setattr(body_members, "REQUEST_MEMBERS_MAX", largest - 1)
    with pytest.raises(ValidationException, match="more than"):
        in_pieces(record, text)


@pytest.mark.parametrize(("name", "body"), CASES)
def test_a_request_is_freed_part_by_part(name: str, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    request = in_pieces(OPERATIONS[name], msgspec.json.encode(body))
    members = getattr(request, "RequestItems" if name == "BatchWriteItem" else "TransactItems")
    parts = list(members.values()) if isinstance(members, dict) else [members]
    left = []
    monkeypatch.setattr(piecewise, "look", lambda: left.append(sum(map(len, parts))))
    count = sum(map(len, parts))
    piecewise.free_request(request)
    assert left == list(reversed(range(count)))
