"""A discarded batch for tests of on-failure destinations."""

import json
from typing import Any

from hashrange.triggers.failure_message import FailureMessage

EVENT = {"Records": [{"eventName": "INSERT", "dynamodb": {"Keys": {"id": {"S": 'é "quoted" \n\x01😀'}}}}]}
STREAM_ARN = "arn:aws:dynamodb:us-east-2:123456789012:table/mytable/stream/2019-11-14T00:04:06.388"
MESSAGE = FailureMessage(
    message_id="aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee",
    mapping_uuid="14e0db71-5d35-4eb5-b481-8945cf9d10c2",
    function_arn="arn:aws:lambda:us-east-2:123456789012:function:myfunction",
    condition="RetryAttemptsExhausted",
    request_id="316aa6d0-8154-4aaa-9af7-85d5f4a6bc81",
    invoke_count=1,
    executed_version="$LATEST",
    function_error="Unhandled",
    discarded_seconds=1_573_690_429.717,
    stream_arn=STREAM_ARN,
    shard_id="shardId-00000001573689847184-864758bb",
    start_sequence_number="800000000003126276362",
    end_sequence_number="800000000003126276363",
    first_arrival_seconds=1_573_690_399,
    last_arrival_seconds=1_573_690_400.9,
    batch_size=2,
    event=json.dumps(EVENT, ensure_ascii=False).encode(),
)
KEY = (
    "aws/lambda/14e0db71-5d35-4eb5-b481-8945cf9d10c2/shardId-00000001573689847184-864758bb/2019/11/14/"
    "2019-11-14T00.13.49-aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
)
DOCUMENT: dict[str, Any] = {
    "requestContext": {
        "requestId": "316aa6d0-8154-4aaa-9af7-85d5f4a6bc81",
        "functionArn": "arn:aws:lambda:us-east-2:123456789012:function:myfunction",
        "condition": "RetryAttemptsExhausted",
        "approximateInvokeCount": 1,
    },
    "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
    "version": "1.0",
    "timestamp": "2019-11-14T00:13:49.717Z",
    "DDBStreamBatchInfo": {
        "shardId": "shardId-00000001573689847184-864758bb",
        "startSequenceNumber": "800000000003126276362",
        "endSequenceNumber": "800000000003126276363",
        "approximateArrivalOfFirstRecord": "2019-11-14T00:13:19Z",
        "approximateArrivalOfLastRecord": "2019-11-14T00:13:20Z",
        "batchSize": 2,
        "streamArn": STREAM_ARN,
    },
}
"""The document of MESSAGE, as the example in Lambda's developer guide."""
DOCUMENT_WITH_EVENT = DOCUMENT | {"payload": MESSAGE.event.decode()}
