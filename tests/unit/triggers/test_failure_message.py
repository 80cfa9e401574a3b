"""The document about a discarded batch is that of Lambda's developer guide, member for member."""

import json

import pytest

from hashrange.triggers.failure_message import encode_failure, region_of
from tests.unit.triggers.discarded import DOCUMENT, DOCUMENT_WITH_EVENT, EVENT, FUNCTION_ARN, KEY, MESSAGE, failure


def test_the_document_is_that_of_the_guide() -> None:
    assert encode_failure(MESSAGE, has_event=False) == json.dumps(DOCUMENT, separators=(",", ":")).encode()


def test_a_buckets_document_has_the_event_as_a_text() -> None:
    encoded = encode_failure(MESSAGE, has_event=True)
    document = json.loads(encoded)
    assert document == DOCUMENT_WITH_EVENT
    assert list(document)[-1] == "payload"
    assert json.loads(document["payload"]) == EVENT
    assert b"\n" not in encoded


def test_too_old_records_were_perhaps_never_delivered() -> None:
    message = failure(discard="RecordAgeExceeded", error=None, invocations=0)
    document = json.loads(encode_failure(message, has_event=False))
    assert list(document) == ["requestContext", "version", "timestamp", "DDBStreamBatchInfo"]
    assert document["requestContext"]["condition"] == "RecordAgeExceeded"
    assert document["requestContext"]["approximateInvokeCount"] == 0


def test_item_failures_are_no_function_error() -> None:
    document = json.loads(encode_failure(failure(f"{FUNCTION_ARN}:3", error=None), has_event=False))
    assert document["responseContext"] == {"statusCode": 200, "executedVersion": "3"}


@pytest.mark.parametrize(
    ("seconds", "timestamp", "end"),
    [
        (1_573_690_429.0, "2019-11-14T00:13:49.000Z", "2019/11/14/2019-11-14T00.13.49-"),
        (1_577_836_799.9999, "2019-12-31T23:59:59.999Z", "2019/12/31/2019-12-31T23.59.59-"),
        (1_577_836_800.0, "2020-01-01T00:00:00.000Z", "2020/01/01/2020-01-01T00.00.00-"),
        (0.001, "1970-01-01T00:00:00.001Z", "1970/01/01/1970-01-01T00.00.00-"),
    ],
)
def test_times_are_in_utc_and_never_ahead(seconds: float, timestamp: str, end: str) -> None:
    message = failure(discarded_seconds=seconds)
    assert json.loads(encode_failure(message, has_event=False))["timestamp"] == timestamp
    assert message.object_key.endswith(f"{end}aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee")


def test_an_objects_name() -> None:
    assert MESSAGE.object_key == KEY


def test_the_region_is_the_streams() -> None:
    assert region_of(MESSAGE) == "us-east-2"
