"""A discarded batch for tests of on-failure destinations."""

import json
from typing import Any

from hashrange.tables.streams import sequence_at
from hashrange.triggers.batches import Batch
from hashrange.triggers.failure_message import FailureMessage, describe_failure
from hashrange.triggers.mapping import EventSourceMapping

EVENT = {"Records": [{"eventName": "INSERT", "dynamodb": {"Keys": {"id": {"S": 'é "quoted" \n\x01😀'}}}}]}
FUNCTION_ARN = "arn:aws:lambda:us-east-2:123456789012:function:myfunction"
STREAM_ARN = "arn:aws:dynamodb:us-east-2:123456789012:table/mytable/stream/2019-11-14T00:04:06.388"


def failure(function_arn: str = FUNCTION_ARN, **members: Any) -> FailureMessage:
    """The message about a batch with these members."""
    mapping = EventSourceMapping(
        uuid="14e0db71-5d35-4eb5-b481-8945cf9d10c2",
        account="123456789012",
        region="us-east-2",
        stream_arn=STREAM_ARN,
        function_arn=function_arn,
        starting_position="LATEST",
    )
    usual: dict[str, Any] = {
        "opened_seconds": 0.0,
        "records_max": 2,
        "sequences": [sequence_at(1_573_690_399) + 1, sequence_at(1_573_690_400.9) + 2],
        "invocations": 1,
        "request_id": "316aa6d0-8154-4aaa-9af7-85d5f4a6bc81",
        "error": "Unhandled",
        "discard": "RetryAttemptsExhausted",
        "message_id": "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee",
        "discarded_seconds": 1_573_690_429.717,
    }
    event = json.dumps(EVENT, ensure_ascii=False).encode()
    return describe_failure(mapping, "shardId-00000001573689847184-864758bb", Batch(**usual | members), event, 0.0)


def numbered_failure(number: int) -> FailureMessage:
    """A message whose document has this number as the size of the batch, and whose object has a name of its own."""
    return MESSAGE._replace(object_key=f"{KEY}-{number}", document={"DDBStreamBatchInfo": {"batchSize": number}})


MESSAGE = failure()
KEY = (
    "aws/lambda/14e0db71-5d35-4eb5-b481-8945cf9d10c2/shardId-00000001573689847184-864758bb/2019/11/14/"
    "2019-11-14T00.13.49-aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
)
DOCUMENT: dict[str, Any] = {
    "requestContext": {
        "requestId": "316aa6d0-8154-4aaa-9af7-85d5f4a6bc81",
        "functionArn": FUNCTION_ARN,
        "condition": "RetryAttemptsExhausted",
        "approximateInvokeCount": 1,
    },
    "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
    "version": "1.0",
    "timestamp": "2019-11-14T00:13:49.717Z",
    "DDBStreamBatchInfo": {
        "shardId": "shardId-00000001573689847184-864758bb",
        "startSequenceNumber": "15736903990000000000001",
        "endSequenceNumber": "15736904009000000000002",
        "approximateArrivalOfFirstRecord": "2019-11-14T00:13:19Z",
        "approximateArrivalOfLastRecord": "2019-11-14T00:13:20Z",
        "batchSize": 2,
        "streamArn": STREAM_ARN,
    },
}
"""The document of MESSAGE, as the example in Lambda's developer guide, but for the sequence numbers."""
DOCUMENT_WITH_EVENT = DOCUMENT | {"payload": MESSAGE.event.decode()}
