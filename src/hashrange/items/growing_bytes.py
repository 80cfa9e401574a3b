"""How are many bytes put together from pieces? In a buffer that grows where it is,
and in the end becomes the bytes without a copy.

`b"".join(pieces)` and `bytes(bytearray)` copy everything in one call: 50 MB take 10 ms on a quiet machine and 40 to
110 ms on a busy one, while nothing else runs.
"""

from io import BytesIO

GrowingBytes = BytesIO
"""`write(piece)` adds a piece, `tell()` is the length so far, and `getvalue()` returns all of it, once."""
