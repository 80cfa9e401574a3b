"""How far has a mapping come in a shard? A checkpoint says it:
a document with the name `checkpoint/{uuid}/{shard number}`.

    {"next": ["<SequenceNumber>", …], "window": {"start": <seconds since the epoch>, "state": …}}

`next` has one number for each lane of the shard: all records of the lane before it have been handled.
If the number of lanes has changed, all begin with the smallest one, so some records are delivered again.
`window` is the tumbling window that has begun.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from hashrange.store.records import decode_document
from hashrange.tables.streams import Sequence as SequenceNumber
from hashrange.tables.streams import parse_sequence, sequence_text
from hashrange.triggers.lanes import Lane
from hashrange.triggers.mappings import CHECKPOINT_PREFIX
from hashrange.triggers.windows import TumblingWindow


class ShardPosition(NamedTuple):
    """What a checkpoint says."""

    positions: Sequence[SequenceNumber]
    """For each lane, the first sequence number that is not handled."""
    window: TumblingWindow | None = None


class _Window(msgspec.Struct, frozen=True):
    start: int
    state: msgspec.Raw


class _Checkpoint(msgspec.Struct, frozen=True, omit_defaults=True):
    next: tuple[str, ...]
    window: _Window | None = None


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Checkpoint).decode


def checkpoint_name(uuid: str, shard_number: int) -> str:
    """Name of the checkpoint of a mapping in a shard."""
    return f"{CHECKPOINT_PREFIX}{uuid}/{shard_number}"


def shard_number_of(name: str) -> int:
    """Number of the shard that a checkpoint of this name is for."""
    return int(name.rpartition("/")[2])


def encode_checkpoint(lanes: Iterable[Lane]) -> bytes:
    """The checkpoint of a shard with these lanes. 1 µs for one lane."""
    window: _Window | None = None
    positions = []
    for lane in lanes:
        positions.append(sequence_text(lane.handled))
        if lane.window is not None:
            window = _Window(lane.window.start_seconds, msgspec.Raw(lane.window.state))
    return _encode(_Checkpoint(tuple(positions), window))


def decode_checkpoint(name: str, document: bytes) -> ShardPosition:
    """What a checkpoint of this name says. Raises StorageCorruption."""
    return decode_document(_shard_position, name, document, "checkpoint")


def _shard_position(document: bytes) -> ShardPosition:
    checkpoint = _decode(document)
    positions = [parse_sequence(one) for one in checkpoint.next]
    window = checkpoint.window
    return ShardPosition(positions, None if window is None else TumblingWindow(window.start, bytes(window.state)))


def lane_positions(found: ShardPosition | None, first: SequenceNumber, lanes: int) -> list[SequenceNumber]:
    """The position at which each of `lanes` lanes begins. `first`: the position without a checkpoint."""
    if found is None or not found.positions:
        return [first] * lanes
    if len(found.positions) == lanes:
        return [max(first, one) for one in found.positions]
    return [max(first, min(found.positions))] * lanes
