"""What is told of records that are given up? The message for the destination of their mapping,
made once for each batch.
"""

from hashrange.tables.streams import sequence_seconds, sequence_text
from hashrange.triggers.batches import Batch
from hashrange.triggers.consumers import ConsumedShard
from hashrange.triggers.failure_message import FailureMessage, ResponseContext
from hashrange.triggers.mappings import new_uuid

_LATEST = "$LATEST"
_ARN_PARTS = 7
"""Parts of a function's ARN without a qualifier."""


def describe_failure(shard: ConsumedShard, batch: Batch, payload: bytes, now_seconds: float) -> FailureMessage:
    """The message about a batch that is given up (`batch.discard` says why). `payload`: its event.

    A message that is sent again has the same id and time, which are kept in the batch.
    """
    assert batch.discard is not None
    mapping = shard.consumer.mapping
    if not batch.message_id:
        batch.message_id, batch.discarded_seconds = new_uuid(), now_seconds
    first, last = batch.sequences[0], batch.sequences[-1]
    return FailureMessage(
        message_id=batch.message_id,
        mapping_uuid=mapping.uuid,
        function_arn=mapping.function_arn,
        condition=batch.discard,
        request_id=batch.request_id or batch.message_id,
        invoke_count=batch.invocations,
        response=ResponseContext(_version(mapping.function_arn), batch.error) if batch.invocations else None,
        discarded_seconds=batch.discarded_seconds,
        stream_arn=mapping.stream_arn,
        shard_id=shard.shard.shard_id,
        start_sequence_number=sequence_text(first),
        end_sequence_number=sequence_text(last),
        first_arrival_seconds=sequence_seconds(first),
        last_arrival_seconds=sequence_seconds(last),
        batch_size=len(batch.sequences),
        event=payload,
    )


def _version(function_arn: str) -> str:
    parts = function_arn.split(":")
    return parts[_ARN_PARTS] if len(parts) > _ARN_PARTS else _LATEST
