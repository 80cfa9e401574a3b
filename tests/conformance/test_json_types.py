"""JSON types of request members: which are refused, which lenient forms are accepted,
and how faults of members are reported.
"""

import json
from typing import Any

import pytest

from tests.support.raw_client import RawClient

TABLE = "json-types"
KEY = {"pk": {"S": "a"}}


@pytest.fixture(scope="module")
def table(client: Any) -> str:
    """A table with a partition key."""
    client.create_table(
        TableName=TABLE,
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    client.get_waiter("table_exists").wait(TableName=TABLE)
    return TABLE


def stored(raw: RawClient, body: bytes) -> Any:
    """Put the item `{"pk": …, "value": body}` and read the value back."""
    reply = raw("PutItem", b'{"TableName":"%b","Item":{"pk":{"S":"a"},"value":%b}}' % (TABLE.encode(), body))
    assert (reply.status, reply.body) == (200, b"{}")
    return raw("GetItem", {"TableName": TABLE, "Key": KEY, "ConsistentRead": "yes"}).json()["Item"]["value"]


LENIENT: list[tuple[bytes, Any]] = [
    (b'{"S":"x","N":null,"L":null}', {"S": "x"}),
    (b'{"S":"x","Unknown":[1,{"a":null}]}', {"S": "x"}),
    (b'{"BOOL":"YES"}', {"BOOL": True}),
    (b'{"BOOL":"0"}', {"BOOL": False}),
    (b'{"NULL":"true"}', {"NULL": True}),
    (b'{"M":{"a":{"BOOL":"no","X":1},"b":{"L":[{"NULL":"1","S":null}]}}}', None),
    (b'{"N":"01.0e1"}', {"N": "10"}),
    (b'{"B":"AAA="}', {"B": "AAA="}),
]


@pytest.mark.parametrize(("body", "expected"), LENIENT, ids=lambda part: str(part)[:40])
def test_lenient_forms_are_stored_as_what_they_mean(table: str, raw: RawClient, body: bytes, expected: Any) -> None:
    if expected is None:
        expected = {"M": {"a": {"BOOL": False}, "b": {"L": [{"NULL": True}]}}}
    assert stored(raw, body) == expected


REFUSED: list[tuple[bytes, str]] = [
    (b'{"S":5}', "NUMBER_VALUE cannot be converted to String"),
    (b'{"N":5}', "NUMBER_VALUE cannot be converted to String"),
    (b'{"N":5.5}', "DECIMAL_VALUE cannot be converted to String"),
    (b'{"N":1e999}', "DECIMAL_VALUE cannot be converted to String"),
    (b'{"B":"abc"}', "Base64 encoded length is expected a multiple of 4 bytes but found: 3"),
    (b'{"B":"AB=="}', "Invalid last non-pad Base64 character dectected"),
    (b'{"B":"A*=="}', "Invalid last non-pad Base64 character dectected"),
    (b'{"BS":["AAA=","A*AA"]}', "Invalid last non-pad Base64 character dectected"),
    (b'{"B":true}', "only base-64-encoded strings are convertible to bytes"),
    (b'{"BOOL":"maybe"}', "Unexpected token received from parser"),
    (b'{"NULL":1}', "NUMBER_VALUE cannot be converted to Boolean"),
    (b'{"SS":"a"}', "Unexpected field type"),
    (b'{"SS":[5]}', "NUMBER_VALUE cannot be converted to String"),
    (b'{"L":{}}', "Start of structure or map found where not expected"),
    (b'{"L":["a"]}', "Unexpected value type in payload"),
    (b'{"L":[[]]}', "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.AttributeValue"),
    (b'{"M":{"a":{"L":[{"S":false}]}}}', "FALSE_VALUE cannot be converted to String"),
    (b'"a"', "Unexpected value type in payload"),
]


@pytest.mark.parametrize(("body", "message"), REFUSED, ids=lambda part: str(part)[:40])
def test_other_types_inside_a_value_are_refused(table: str, raw: RawClient, body: bytes, message: str) -> None:
    reply = raw("PutItem", b'{"TableName":"%b","Item":{"pk":{"S":"a"},"value":%b}}' % (TABLE.encode(), body))
    assert (reply.status, reply.json()) == (
        400, {"__type": "com.amazon.coral.service#SerializationException", "Message": message},
    )  # fmt: skip


THROUGHPUT = b'{"TableName":"never","ProvisionedThroughput":{"ReadCapacityUnits":%b,"WriteCapacityUnits":1}}'
ON_DEMAND = b'{"TableName":"never","OnDemandThroughput":{"MaxReadRequestUnits":%b}}'
WARM = b'{"TableName":"never","WarmThroughput":{"WriteUnitsPerSecond":%b}}'
INDEX = (
    b'{"TableName":"never","GlobalSecondaryIndexUpdates":[{"Update":{"IndexName":"abc","ProvisionedThroughput":'
    b'{"ReadCapacityUnits":1,"WriteCapacityUnits":%b}}}]}'
)
STATEMENT = b'{"Statement":"SELECT * FROM \\"json-types\\"","Limit":%b}'
QUERY = (
    b'{"TableName":"json-types","KeyConditions":{"pk":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"a"}]}},'
    b'"Limit":%b}'
)
RANGES: list[tuple[str, bytes, str]] = [
    ("Scan", b'{"TableName":"json-types","Limit":%b}', "Integer"),
    ("Scan", b'{"TableName":"json-types","Segment":0,"TotalSegments":%b}', "Integer"),
    ("Query", QUERY, "Integer"),
    ("ListTables", b'{"Limit":%b}', "Integer"),
    ("ListBackups", b'{"Limit":%b}', "Integer"),
    ("ListContributorInsights", b'{"MaxResults":%b}', "Integer"),
    ("ListExports", b'{"MaxResults":%b}', "Integer"),
    ("ListImports", b'{"PageSize":%b}', "Integer"),
    ("ExecuteStatement", STATEMENT, "Integer"),
    ("UpdateTable", THROUGHPUT, "Long"),
    ("UpdateTable", ON_DEMAND, "Long"),
    ("UpdateTable", WARM, "Long"),
    ("UpdateTable", INDEX, "Long"),
    ("ListBackups", b'{"TimeRangeLowerBound":%b}', "Double"),
]  # fmt: skip


@pytest.mark.parametrize("number", [b"1e400", b"-1e400", b"9223372036854775808", b"-9223372036854775809"])
@pytest.mark.parametrize(
    ("operation", "body", "kind"), [one for one in RANGES if one[2] != "Integer"], ids=lambda part: str(part)[:60]
)
def test_a_number_beyond_the_range_of_its_type_is_refused(
    table: str, raw: RawClient, operation: str, body: bytes, kind: str, number: bytes
) -> None:
    reply = raw(operation, body % number)
    if kind == "Double" and b"e" not in number:
        assert reply.status == 200
        return
    token = "DECIMAL_VALUE" if b"e" in number else "NUMBER_VALUE"
    assert (reply.status, reply.json()) == (
        400,
        {
            "__type": "com.amazon.coral.service#SerializationException",
            "Message": f"{token} cannot be converted to {kind}",
        },
    )


@pytest.mark.parametrize("operation", ["Scan", "ExecuteStatement", "ListContributorInsights"])
@pytest.mark.parametrize("number", [b"2147483648", b"-2147483649", b"3e9"])
def test_an_integer_has_32_bits(table: str, raw: RawClient, operation: str, number: bytes) -> None:
    body = next(body for name, body, _ in RANGES if name == operation)
    reply, held = (
        raw(operation, body % number),
        raw(operation, body % str(max(-(2**31), min(int(float(number)), 2**31 - 1))).encode()),
    )
    assert reply.status == held.status
    if reply.status != 200:
        least = "Value '-2147483648' at '" if number.startswith(b"-") else "Value '2147483647' at '"
        assert least in reply.json()["message"]


def test_limits_and_segments_are_cut_and_held(table: str, raw: RawClient) -> None:
    for operation, start in (("Scan", b"{"), ("Query", QUERY.partition(b'"Limit"')[0])):
        body = start + (b'"TableName":"json-types",' if operation == "Scan" else b"") + b'"Limit":%b}'
        for limit in (b"4294967296", b"1.9", b"1e9999", b"2147483648.5"):
            assert raw(operation, body % limit).status == 200
    for segments, status in ((b'0.9,"TotalSegments":1.5', 200), (b'0,"TotalSegments":0.5', 400)):
        reply = raw("Scan", b'{"TableName":"json-types","Segment":%b}' % segments)
        assert reply.status == status
    assert reply.json()["message"] == (
        "1 validation error detected: Value '0' at 'totalSegments' failed to satisfy constraint: Member must have value"
        " greater than or equal to 1"
    )


EMPTY = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"


@pytest.mark.parametrize("body", [b"null", b"{}", b'{"S":null}', b'{"X":1}', b'{"L":[null]}', b'{"M":{"a":null}}'])
def test_a_value_without_a_type_is_empty(table: str, raw: RawClient, body: bytes) -> None:
    reply = raw("PutItem", b'{"TableName":"%b","Item":{"pk":{"S":"a"},"value":%b}}' % (TABLE.encode(), body))
    assert reply.json() == {"__type": "com.amazon.coral.validate#ValidationException", "message": EMPTY}


NESTING = (
    "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
)


@pytest.mark.parametrize("levels", [33, 40, 64, 65, 100, 400])
def test_values_that_are_nested_too_deeply_are_refused_and_nothing_breaks(
    table: str, raw: RawClient, levels: int
) -> None:
    for opening, closing in ((b'{"L":[', b"]}"), (b'{"M":{"a":', b"}}")):
        value = opening * levels + b'{"BOOL":"yes"}' + closing * levels
        reply = raw("PutItem", b'{"TableName":"%b","Item":{"pk":{"S":"a"},"value":%b}}' % (TABLE.encode(), value))
        assert (reply.status, NESTING in reply.json()["message"]) == (400, True)


def test_the_body_may_use_nulls_for_absent_members(table: str, raw: RawClient) -> None:
    body = {"TableName": TABLE, "Key": KEY, "ProjectionExpression": None, "AttributesToGet": None, "Unknown": None}
    assert raw("GetItem", body).status == 200


def test_constraints_of_an_item_operation_come_in_one_envelope(raw: RawClient) -> None:
    reply = raw("UpdateItem", {"ReturnConsumedCapacity": "hi", "ReturnValues": "hi"})
    assert reply.json() == {
        "__type": "com.amazon.coral.validate#ValidationException",
        "message": (
            "4 validation errors detected: "
            "Value 'hi' at 'returnConsumedCapacity' failed to satisfy constraint: "
            "Member must satisfy enum value set: [INDEXES, TOTAL, NONE]; "
            "Value null at 'tableName' failed to satisfy constraint: Member must not be null; "
            "Value 'hi' at 'returnValues' failed to satisfy constraint: "
            "Member must satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]; "
            "Value null at 'key' failed to satisfy constraint: Member must not be null"
        ),
    }


def test_create_table_reports_nested_members_by_their_path(raw: RawClient) -> None:
    body = {
        "TableName": "abc;",
        "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "X"}],
        "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}] * 3,
        "ProvisionedThroughput": {"ReadCapacityUnits": 0, "WriteCapacityUnits": -1},
        "LocalSecondaryIndexes": [{"IndexName": "h;", "KeySchema": [], "Projection": {"NonKeyAttributes": []}}],
    }
    element = "KeySchemaElement(attributeName=a, keyType=HASH)"
    pattern = "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
    errors = [
        (
            "Value 'X' at 'attributeDefinitions.1.member.attributeType' failed to satisfy constraint: "
            "Member must satisfy enum value set: [B, N, S]"
        ),
        f"Value 'abc;' at 'tableName' failed to satisfy constraint: {pattern}",
        (
            "Value '-1' at 'provisionedThroughput.writeCapacityUnits' failed to satisfy constraint: "
            "Member must have value greater than or equal to 1"
        ),
        (
            "Value '0' at 'provisionedThroughput.readCapacityUnits' failed to satisfy constraint: "
            "Member must have value greater than or equal to 1"
        ),
        (
            f"Value '[{element}, {element}, {element}]' at 'keySchema' failed to satisfy constraint: "
            "Member must have length less than or equal to 2"
        ),
        f"Value 'h;' at 'localSecondaryIndexes.1.member.indexName' failed to satisfy constraint: {pattern}",
        (
            "Value 'h;' at 'localSecondaryIndexes.1.member.indexName' failed to satisfy constraint: "
            "Member must have length greater than or equal to 3"
        ),
        (
            "Value '[]' at 'localSecondaryIndexes.1.member.keySchema' failed to satisfy constraint: "
            "Member must have length greater than or equal to 1"
        ),
        (
            "Value '[]' at 'localSecondaryIndexes.1.member.projection.nonKeyAttributes' failed to satisfy constraint: "
            "Member must have length greater than or equal to 1"
        ),
    ]
    message = raw("CreateTable", json.dumps(body).encode()).json()["message"]
    assert message == f"{len(errors)} validation errors detected: {'; '.join(errors)}"
