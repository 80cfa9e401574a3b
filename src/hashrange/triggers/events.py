"""What does a function receive? The event of a batch: its records, and with tumbling windows the window and its state.

Source: Lambda's developer guide of 2026, *Using AWS Lambda with Amazon DynamoDB*, *Implementing stateful DynamoDB stream processing*.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from hashrange.items.steps import spend_decoding
from hashrange.triggers.batches import Batch
from hashrange.triggers.filter_patterns import compile_filters, members_of
from hashrange.triggers.windows import TumblingWindow, window_members


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
    """A function that says whether a record, given as the JSON of an event, matches one of the patterns; None without patterns.

    Only the top-level members that the patterns name are decoded. Raises InvalidPattern.
    """
    if not patterns:
        return None
    matches = compile_filters(patterns)
    names = sorted(members_of(patterns))
    fields: list[tuple[str, Any, Any]] = [
        (f"member_{place}", Any, msgspec.field(default=msgspec.UNSET, name=name)) for place, name in enumerate(names)
    ]
    decode = msgspec.json.Decoder(msgspec.defstruct("MembersOfRecord", fields)).decode
    attributes = [(name, field) for name, (field, _, _) in zip(names, fields, strict=True)]

    def matches_json(text: bytes) -> bool:
        spend_decoding(len(text))
        members = decode(text)
        record = {name: getattr(members, field) for name, field in attributes}
        return matches({name: value for name, value in record.items() if value is not msgspec.UNSET})

    return matches_json
