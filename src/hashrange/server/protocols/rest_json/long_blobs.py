"""How is a zip of 50 MB read from a JSON body? Its base64 text is cut out of the body and decoded
in pieces, giving way in between.

In one call, the decoder takes 120 ms for the longest body, while no other request is answered;
putting the pieces together at the end would take 30 ms.
"""

from collections.abc import Iterator

import msgspec

from hashrange.errors import SerializationException
from hashrange.items.growing_bytes import GrowingBytes
from hashrange.items.steps import spend
from hashrange.messages.requests import BLOB_CHARACTERS, BLOB_LENGTH

LONG_BLOB_BYTES = 64 * 1024
"""Texts shorter than this stay in the body."""

_PIECE_BYTES = 256 * 1024
"""Bytes that are decoded, or searched, at once: decoding takes 0.8 ms."""
_PIECE_STEPS = 800
_SEARCH_STEPS = 100
_BLANKS = b" \t\r\n"
_decode = msgspec.json.Decoder(bytes).decode


def cut_blob(body: bytes, name: str) -> tuple[bytes, bytes] | None:
    """Cut the long base64 text of the member `name` out of a JSON body.

    Returns the body with an empty text in its place, and the bytes; None if there is no such member,
    or no long text in it. Raises SerializationException if the text is no base64;
    an escaped slash is a slash, and other escapes are no base64.
    """
    label = f'"{name}"'.encode()
    start = _find(body, label, 0)
    if start < 0:
        return None
    start = _behind(body, start + len(label), b":")
    start = _behind(body, start, b'"') if start >= 0 else -1
    end = _find(body, b'"', start) if start >= 0 else -1
    if end - start < LONG_BLOB_BYTES:
        return None
    decoded = GrowingBytes()
    for piece in _pieces(body, start, end):
        decoded.write(piece)
    return body[:start] + body[end:], decoded.getvalue()


def _pieces(body: bytes, start: int, end: int) -> Iterator[bytes]:
    """The decoded pieces of the base64 text between these positions. Raises SerializationException."""
    rest = b""
    decoded_bytes = 0
    while start < end:
        spend(_PIECE_STEPS)
        stop = min(start + _PIECE_BYTES, end)
        stop += body[stop - 1] == ord("\\")  # an escape is not divided
        text = rest + body[start:stop].replace(b"\\/", b"/")
        start = stop
        whole = len(text) & ~3
        text, rest = text[:whole], text[whole:]
        if start < end and text.endswith(b"="):
            raise SerializationException(BLOB_CHARACTERS)
        try:
            piece = _decode(b'"%b"' % text)
        except msgspec.MsgspecError:
            raise SerializationException(BLOB_CHARACTERS) from None
        decoded_bytes += len(piece)
        yield piece
    if rest:
        raise SerializationException(BLOB_LENGTH.format(length=decoded_bytes // 3 * 4 + len(rest)))


def _find(body: bytes, wanted: bytes, start: int) -> int:
    """Position of `wanted` from `start` on; -1 if it is not there."""
    for at in range(start, len(body), _PIECE_BYTES):
        spend(_SEARCH_STEPS)
        found = body.find(wanted, at, at + _PIECE_BYTES + len(wanted) - 1)
        if found >= 0:
            return found
    return -1


def _behind(body: bytes, start: int, mark: bytes) -> int:
    """Position behind `mark`, which follows `start` with nothing but blanks in between;
    -1 if something else follows.
    """
    while body[start : start + 1] in _BLANKS and start < len(body):
        start += 1
    return start + 1 if body[start : start + 1] == mark else -1
