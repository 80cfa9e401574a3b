"""Which error messages concern streams? Each is defined once, with `str.format` fields.

Source: service behaviour, captures to October 2026, and reports of users; messages marked "our own" are not captured.
"""

from hashrange.messages.expressions import INVALID_PARAMETERS

STREAM_NOT_FOUND = "Requested resource not found: Stream: {arn} not found"
# Our own wording, modelled on STREAM_NOT_FOUND.
SHARD_NOT_FOUND = "Requested resource not found: Shard: {shard} not found in stream: {arn}"
TRIMMED = "The data you are trying to access has been trimmed"
SEQUENCE_MISSING = INVALID_PARAMETERS + "SequenceNumber cannot be null"
SEQUENCE_SUPERFLUOUS = INVALID_PARAMETERS + "SequenceNumber should not be passed for this iterator type"
SEQUENCE_IMPOSSIBLE = "Invalid SequenceNumber for the shard"
# Our own wording, from INVALID_ARN to TIMESTAMP_AHEAD.
INVALID_ARN = "Invalid StreamArn: {arn}"
INVALID_ITERATOR = "Invalid ShardIterator"
ITERATOR_EXPIRED = "The shard iterator has expired: it was given out more than 15 minutes ago"
TIMESTAMP_MISSING = "Timestamp must be specified when ShardIteratorType is AT_TIMESTAMP"
TIMESTAMP_SUPERFLUOUS = "Timestamp cannot be specified when ShardIteratorType is {kind}"
TIMESTAMP_AHEAD = "Timestamp must not be in the future"
