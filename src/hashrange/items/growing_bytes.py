"""How are many bytes put together from pieces? In a buffer that grows where it is,
and in the end becomes the bytes without a copy.

`b"".join(pieces)` and `bytes(bytearray)` copy everything in one call: 50 MB take 10 ms on a quiet machine and 40 to
110 ms on a busy one, while nothing else runs.
"""

from io import BytesIO
from typing import Any

from hashrange.items.steps import spend

GrowingBytes = BytesIO
"""`write(piece)` adds a piece, `tell()` is the length so far, and `getvalue()` returns all of it, once."""


class PacedBytes(GrowingBytes):
    """Bytes that give way before each piece that is added."""

    def write(self, piece: Any) -> int:
        """Add a piece; returns its length."""
        spend((len(piece) >> 7) + 1)
        return super().write(piece)
