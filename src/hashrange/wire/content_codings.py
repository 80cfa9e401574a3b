"""How are bodies compressed and decompressed? By gzip and deflate, with limits on how far a request's body may grow.

Source: operations.md 1.1 (compression).
"""

import zlib

from zlib_ng.zlib_ng import compressobj

from hashrange.errors import HashrangeError
from hashrange.items.steps import LARGE_PIECE_BYTES, look, spend, spend_decoding
from hashrange.limits import BODY_BYTES_MAX

CODINGS_MAX = 4
"""How often a body may be compressed. Each coding may inflate it to 16 MB in 30 ms, and a head can name thousands."""
MEMBERS_MAX = 1024
"""Members that a gzip body may have; starting to decompress a member costs about 10 µs, however small it is."""
INFLATE_BYTES = 64 * 1024
"""Bytes of a compressed body that are fed to the decompressor at once."""
PLAIN_BYTES = 256 * 1024
"""Bytes that the decompressor makes at most in one call, in 0.7 ms; work gives way between the calls."""
COMPRESSED_PIECE_BYTES = 32 * 1024
"""Bytes of a reply that are compressed in one call: in 0.5 ms, or in 1 ms if they hardly shrink."""
COMPRESSED_PIECE_STEPS = 500
COMPRESS_FROM_BYTES = 4 * 1024
"""Replies larger than this are compressed for clients that request it (operations.md 1.1)."""


def accepted_coding(accept_encoding: bytes | None) -> bytes | None:
    """The content coding for a large reply: gzip before deflate, or None if the client accepts neither."""
    if accept_encoding is None:
        return None
    wanted: set[bytes] = set()
    for part in accept_encoding.lower().split(b","):
        coding, _, parameters = part.partition(b";")
        weight = parameters.replace(b" ", b"")
        if not (weight.startswith(b"q=0") and weight[3:].strip(b".0") == b""):
            wanted.add(coding.strip())
    if b"gzip" in wanted or b"*" in wanted:
        return b"gzip"
    return b"deflate" if b"deflate" in wanted else None


def compress(body: bytes, coding: bytes) -> bytes:
    """Compress `body` with this coding at the fastest level: 10 to 30 ms for 1 MB.
    Looks once or twice per ms whether to give way.
    """
    compressor = compressobj(level=1, wbits=31 if coding == b"gzip" else 15)
    whole, parts = memoryview(body), []
    for start in range(0, len(body), COMPRESSED_PIECE_BYTES):
        spend(COMPRESSED_PIECE_STEPS)
        parts.append(compressor.compress(whole[start : start + COMPRESSED_PIECE_BYTES]))
    parts.append(compressor.flush())
    return b"".join(parts)


class ContentEncodingError(HashrangeError):
    """The body does not match its Content-Encoding, or has too many codings or gzip members."""


class BodyTooLargeError(HashrangeError):
    """The body exceeds `BODY_BYTES_MAX` once decoded."""


def decode_body(body: bytes, content_encoding: bytes) -> bytes:
    """The body without its content codings. Codings other than gzip and deflate are ignored.

    Raises ContentEncodingError, and BodyTooLargeError as soon as a coding yields more than `BODY_BYTES_MAX`.
    """
    codings = [coding.strip() for coding in content_encoding.lower().split(b",")]
    compressions = [coding for coding in reversed(codings) if coding in (b"gzip", b"x-gzip", b"deflate")]
    if len(compressions) > CODINGS_MAX:
        raise ContentEncodingError("the body is compressed too many times")
    for coding in compressions:
        body = _inflate(body, is_gzip=coding != b"deflate")
    return body


def _inflate(body: bytes, *, is_gzip: bool) -> bytes:
    """Decompress a body of one coding: one stream, for gzip one or more members (RFC 1952, 2.2).

    Raises ContentEncodingError, also if other bytes follow, and BodyTooLargeError.
    """
    # "deflate" is specified as zlib's format, but some clients send a bare deflate stream.
    is_bare = not is_gzip and (len(body) < 2 or body[0] & 0x0F != 8 or (body[0] << 8 | body[1]) % 31 != 0)
    wbits = 31 if is_gzip else -15 if is_bare else 15
    plain, position = _inflate_stream(body, 0, BODY_BYTES_MAX, wbits)
    members = [plain]
    size_bytes = len(plain)
    while position < len(body):
        if not is_gzip or len(members) == MEMBERS_MAX:
            raise ContentEncodingError("there is more behind the compressed body")
        plain, position = _inflate_stream(body, position, BODY_BYTES_MAX - size_bytes, wbits)
        members.append(plain)
        size_bytes += len(plain)
    return plain if len(members) == 1 else b"".join(members)


def _inflate_stream(body: bytes, position: int, bytes_max: int, wbits: int) -> tuple[bytes, int]:
    """Decompress the stream at `position`; return its content and the position after the stream.

    Input is fed in pieces, because zlib copies the input that it has not read; output comes in pieces, giving way in
    between. Raises ContentEncodingError, and BodyTooLargeError for more than `bytes_max` of output.
    """
    decompressor = zlib.decompressobj(wbits=wbits)
    pieces: list[bytes] = []
    room_bytes = bytes_max + 1
    # When `room_bytes` falls to this, the decompressed body, with all earlier gzip members, counts as large.
    large_from_bytes = BODY_BYTES_MAX + 1 - LARGE_PIECE_BYTES
    is_more_made = False
    while not decompressor.eof:
        look()
        compressed = body[position : position + INFLATE_BYTES]
        if not compressed and not is_more_made:
            raise ContentEncodingError("the compressed body ends early")
        try:
            piece = decompressor.decompress(compressed, min(room_bytes, PLAIN_BYTES))
        except zlib.error as error:
            raise ContentEncodingError(str(error)) from error
        is_more_made = len(piece) == PLAIN_BYTES  # if so, zlib may have more output, even without more input
        pieces.append(piece)
        if room_bytes > large_from_bytes >= room_bytes - len(piece):
            # The body is large from here on, its final length unknown. Queued as if it had the greatest, this worker
            # waits until no other has large JSON in work: so only one large body is decompressed at a time.
            spend_decoding(BODY_BYTES_MAX)
        room_bytes -= len(piece)
        if room_bytes <= 0:
            raise BodyTooLargeError
        left = decompressor.unused_data if decompressor.eof else decompressor.unconsumed_tail
        position += len(compressed) - len(left)
    look()
    plain = b"".join(pieces)
    look()
    return plain, position
