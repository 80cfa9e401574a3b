"""How is a loaded part told in bytes, so that another one can be made of them? In sections: one says what the part is,
each further one holds entries of one block. All numbers are little-endian (docs/formats/vectors.md).
"""

import msgspec

from hashrange.vectors.ranking import Distance

SECTION_EXTRA_BYTES = 4 * 1024 * 1024
"""Keys and tested rows of a section, about, besides the vectors of at most one block."""


class PartHead(msgspec.Struct, array_like=True, frozen=True):
    """The first section: what the part is."""

    distance: Distance
    dimensions: int
    count: int
    """How many entries the other sections hold."""
    cells: int = 0
    """How many cells there are; 0: the part is not divided."""
    centers: bytes = b""
    """The centers of the cells, 32-bit floats."""
    divided_count: int = 0
    """As in `VectorCells`."""
    most: float = 0.0
    """As in `VectorCells`."""
    axes: bytes = b""
    """The axes of the sketches, 32-bit floats; empty: there are no sketches."""


class BlockEntries(msgspec.Struct, array_like=True, frozen=True):
    """Any other section: entries of one block."""

    cell: int | None
    keys: list[bytes]
    floats: bytes
    """The vectors, 32-bit floats."""
    lengths: bytes
    """Of each vector, 64-bit floats."""
    sizes: bytes
    """Item sizes, 32-bit numbers."""
    tested_rows: list[bytes]
    """The rows that conditions test, each one once."""
    tested: bytes
    """The place of each entry's row in `tested_rows`, 32-bit numbers."""
    sketches: bytes
    """The vectors' sketches, 32-bit floats; empty: they have none. To make them again would take as long as to read all
    else.
    """


encode_section = msgspec.msgpack.Encoder().encode
"""Encodes a section as MessagePack."""
decode_head = msgspec.msgpack.Decoder(PartHead).decode
decode_entries = msgspec.msgpack.Decoder(BlockEntries).decode
