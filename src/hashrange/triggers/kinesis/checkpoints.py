"""How far has the delivery of a feed come? Documents say it, one for each shard:
`kinesis/{stream id of the feed}/{shard number}`.

The document is the text of a sequence number: Kinesis has accepted all changes of the shard before it.
"""

from hashrange.errors import StorageCorruption
from hashrange.store.documents import Documents
from hashrange.tables.streams import Sequence, parse_sequence, sequence_text

PREFIX = "kinesis/"

ShardKey = tuple[int, int]
"""Stream id of a feed, and number of a shard."""


def position_name(key: ShardKey) -> str:
    """Name of the checkpoint of a shard."""
    return f"{PREFIX}{key[0]}/{key[1]}"


def encode_position(position: Sequence) -> bytes:
    """The document for a position: the first sequence number that has not been accepted."""
    return sequence_text(position).encode()


def read_positions(documents: Documents) -> dict[ShardKey, Sequence]:
    """The positions of all shards that have a checkpoint. Raises StorageCorruption and other StorageErrors."""
    found: dict[ShardKey, Sequence] = {}
    for name, value in documents.below(PREFIX):
        try:
            _, stream_id, shard = name.split("/")
            found[int(stream_id), int(shard)] = parse_sequence(value.decode())
        except ValueError as error:
            raise StorageCorruption(
                f"the document {name} is no checkpoint of a delivery to Kinesis: {error}"
            ) from error
    return found
