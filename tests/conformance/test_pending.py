"""Operations that are not implemented: each returns its own error, after the signature check
and before any other check.
"""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from hashrange.operations.pending import PENDING, PENDING_NAMES
from tests.support.raw_client import RawClient

CORAL = "com.amazon.coral.service#"
STREAMS = "DynamoDBStreams_20120810."


@pytest.mark.parametrize("name", sorted(PENDING))
def test_it_says_that_it_is_not_supported_yet(raw: RawClient, name: str) -> None:
    reply = raw(name, {})
    assert (reply.status, reply.json()) == (
        400,
        {"__type": CORAL + "UnsupportedOperationException", "message": f"Hashrange does not support {name} yet."},
    )


@pytest.mark.parametrize("name", sorted(PENDING))
def test_json_and_the_signature_come_first(raw: RawClient, name: str) -> None:
    assert raw(name, b"{", is_signed=False).json() == {"__type": CORAL + "SerializationException"}
    assert raw(name, b"[]").json() == {"__type": CORAL + "SerializationException"}
    unsigned = raw(name, {}, is_signed=False)
    assert unsigned.json()["__type"] == CORAL + "MissingAuthenticationTokenException"


@pytest.mark.parametrize("body", [{"TableName": 5}, {"Statement": None}, {"RequestItems": {"t": {}}}])
def test_nothing_of_the_request_is_looked_at(raw: RawClient, body: dict[str, Any]) -> None:
    assert raw(PENDING_NAMES[0], body).json()["__type"] == CORAL + "UnsupportedOperationException"


def test_a_service_answers_only_for_its_own_operations(raw: RawClient) -> None:
    for other in (STREAMS + PENDING_NAMES[0], "DynamoDB_20120810.GetRecords"):
        assert raw(other, {}).json() == {"__type": CORAL + "UnknownOperationException"}


def test_an_sdk_hears_code_and_message_and_does_not_retry(client: Any) -> None:
    with pytest.raises(ClientError) as refusal:
        client.describe_global_table(GlobalTableName="table")
    assert refusal.value.response["Error"] == {
        "Code": "UnsupportedOperationException",
        "Message": "Hashrange does not support DescribeGlobalTable yet.",
    }
    assert refusal.value.response["ResponseMetadata"]["RetryAttempts"] == 0
