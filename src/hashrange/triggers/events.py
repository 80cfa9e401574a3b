"""What does a function receive? The event of a batch: its records, and with tumbling windows the window and its state.

Source: Lambda's developer guide of 2026, *Using AWS Lambda with Amazon DynamoDB*,
*Implementing stateful DynamoDB stream processing*.
"""

from collections.abc import Callable, Sequence

import msgspec

from hashrange.items.steps import spend_decoding
from hashrange.triggers.batches import Batch
from hashrange.triggers.filter_patterns import compile_filters, members_of
from hashrange.triggers.windows import TumblingWindow, window_members
from hashrange.wire.body_members import has_many_members
from hashrange.wire.piecewise import decode_in_pieces, free

_decode_json = msgspec.json.Decoder().decode
_outline = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
RECORD_MEMBERS = frozenset(
    ("awsRegion", "dynamodb", "eventID", "eventName", "eventSource", "eventSourceARN", "eventVersion", "userIdentity")
)
"""The members that a record may have."""


def encode_event(
    batch: Batch, window: TumblingWindow | None, window_seconds: int, shard_id: str, stream_arn: str
) -> bytes:
    """The JSON of a batch's event. `window`: that of the lane; `window_seconds`: 0 without tumbling windows."""
    spend_decoding(batch.size_bytes)
    records = b",".join(batch.records)
    if batch.window_start_seconds is None:
        return b'{"Records":[%b]}' % records
    members = window_members(
        window or TumblingWindow(batch.window_start_seconds),
        window_seconds,
        shard_id,
        stream_arn,
        is_final=batch.is_final,
    )
    return b'{"Records":[%b],%b}' % (records, members)


def record_filter(patterns: Sequence[str]) -> Callable[[bytes], bool] | None:
    """A function that says whether a record, given as the JSON of an event, matches one of the patterns;
    None without patterns.

    Only the members of the record that the patterns name are decoded, in pieces if there are very many values. Raises
    InvalidPattern.
    """
    if not patterns:
        return None
    matches = compile_filters(patterns)
    names = sorted(RECORD_MEMBERS.intersection(members_of(patterns)))

    def matches_json(text: bytes) -> bool:
        has_many = has_many_members(text)
        spend_decoding(len(text))
        members = _outline(text)
        found = {name: members[name] for name in names if name in members}
        if not has_many:
            return matches({name: _decode_json(member) for name, member in found.items()})
        record = {name: decode_in_pieces(bytes(member), _decode_json) for name, member in found.items()}
        is_match = matches(record)
        free(record)
        return is_match

    return matches_json
