"""Is a text base64 that the service accepts? Groups of four characters, padded, unused bits zero:
the canonical text of its bytes.
"""

from binascii import a2b_base64, b2a_base64
from typing import Any

from hashrange.errors import Malformed
from hashrange.items.steps import spend

PIECE_CHARACTERS = 64 * 1024
"""Characters of a long text that are decoded in one call, in 0.3 ms; a multiple of 4."""


def decode_base64(text: Any) -> bytes:
    """Decode base64 text; raises Malformed for anything else. 0.3 µs for 16 bytes."""
    if text.__class__ is not str:
        raise Malformed
    if len(text) <= PIECE_CHARACTERS:
        return _decode(text)
    pieces = []
    for start in range(0, len(text), PIECE_CHARACTERS):
        spend(PIECE_CHARACTERS >> 8)
        end = start + PIECE_CHARACTERS
        if end < len(text) and text[end - 1] == "=":  # padding before the end of the text
            raise Malformed
        pieces.append(_decode(text[start:end]))
    return b"".join(pieces)


def _decode(text: str) -> bytes:
    try:
        decoded = a2b_base64(text)
    except ValueError:
        raise Malformed from None
    if b2a_base64(decoded, newline=False).decode() != text:
        raise Malformed
    return decoded
