"""How is a body in chunks (`aws-chunked`) joined while it comes, and how are its signatures checked? Pure.

`wire/chunked_payload.py` says how a chunk looks, and does the same with a body that is there. Trailers may follow the
last chunk, and are signed if the chunks are.
Source: S3's API reference, *Signature calculations: transferring payload in multiple chunks*, also with trailers.
"""

import hmac
from collections.abc import Iterator
from hashlib import sha256
from typing import NamedTuple

from hashrange.errors import HashrangeError
from hashrange.wire.chunked_payload import ChunksError, is_chunk_size
from hashrange.wire.sigv4 import Claim

LINE_BYTES_MAX = 1024
TRAILERS_MAX = 16
_EMPTY_HASH = sha256(b"").hexdigest()


class ChunkUnsigned(HashrangeError):
    """The signature of a chunk, or of the trailers, is missing or wrong."""


class ChunkTooShort(HashrangeError):
    """More chunks than a client may send are shorter than a chunk must be."""


class ChunkSigner(NamedTuple):
    """Who has signed the chunks of a body."""

    claim: Claim
    """Of the request; its signature precedes that of the first chunk."""
    key: bytes
    """The signing key."""

    def sign(self, algorithm: str, previous: str, *hashes: str) -> str:
        """The signature of a chunk, or of trailers, behind that of the preceding one."""
        lines = (f"AWS4-HMAC-SHA256-{algorithm}", self.claim.date, self.claim.scope, previous, *hashes)
        return hmac.new(self.key, "\n".join(lines).encode("latin-1"), sha256).hexdigest()


class ChunkDecoder:
    """Joins the chunks of one body."""

    def __init__(self, signer: ChunkSigner | None, short_bytes: int, short_chunks_max: int) -> None:
        """`signer` None: signatures are not looked at. At most `short_chunks_max` chunks, besides the last, may be
        shorter than `short_bytes`: each costs 5 µs, whatever its length is.
        """
        self.trailers: dict[str, str] = {}
        """By lower-case name."""
        self._signer = signer
        self._previous = "" if signer is None else signer.claim.signature.decode("latin-1")
        self._short_bytes = short_bytes
        self._short_chunks_left = short_chunks_max
        self._pending = b""
        self._left_bytes = 0
        """Bytes that the chunk lacks."""
        self._is_chunk_over = False
        """True between a chunk's data and the line end behind them."""
        self._is_last = False
        """True behind the last chunk's size."""
        self._has_ended = False
        self._hash = sha256()
        self._signature = ""
        self._trailer_lines = b""

    def feed(self, data: bytes) -> Iterator[memoryview]:
        """The data of the chunks that these bytes hold. Raises ChunksError, ChunkUnsigned and ChunkTooShort."""
        if self._pending:
            data, self._pending = self._pending + data, b""
        position = 0
        while position < len(data):
            if self._left_bytes:
                piece = memoryview(data)[position : position + self._left_bytes]
                position += len(piece)
                yield piece
                self._take(piece)
                continue
            end = data.find(b"\r\n", position, position + LINE_BYTES_MAX)
            if end < 0:
                if len(data) - position >= LINE_BYTES_MAX:
                    raise ChunksError("a line is too long")
                self._pending = data[position:]
                return
            self._read_line(data[position:end])
            position = end + 2

    def end(self) -> None:
        """Raise ChunksError unless the body has ended with its last chunk, and ChunkUnsigned for unsigned trailers."""
        if not self._is_last or self._pending.strip():
            raise ChunksError("the last chunk is missing")
        self._check_trailers()

    def _take(self, piece: memoryview) -> None:
        self._left_bytes -= len(piece)
        if self._signer is not None:
            self._hash.update(piece)
        if not self._left_bytes:
            self._is_chunk_over = True
            self._check_chunk()

    def _read_line(self, line: bytes) -> None:
        if self._has_ended:
            raise ChunksError("there is more behind the last chunk")
        if self._is_last:
            self._read_trailer(line)
        elif self._is_chunk_over:
            if line:
                raise ChunksError("a chunk is longer than its size")
            self._is_chunk_over = False
        else:
            self._read_size(line)

    def _read_size(self, line: bytes) -> None:
        size_text, _, extension = line.partition(b";")
        if not is_chunk_size(size_text):
            raise ChunksError("a chunk's size is no number")
        self._left_bytes = size_bytes = int(size_text, 16)
        self._signature = extension.partition(b"chunk-signature=")[2].strip().decode("latin-1")
        if size_bytes == 0:
            self._is_last = True
            self._check_chunk()
        elif size_bytes < self._short_bytes:
            # The last chunk with data is not known before the next one: one more short chunk is let through.
            self._short_chunks_left -= 1
            if self._short_chunks_left < -1:
                raise ChunkTooShort("a chunk is too short")

    def _check_chunk(self) -> None:
        """Check the signature of a chunk whose data have come."""
        if self._signer is None:
            return
        right = self._signer.sign("PAYLOAD", self._previous, _EMPTY_HASH, self._hash.hexdigest())
        if not hmac.compare_digest(right.encode(), self._signature.encode("latin-1")):
            raise ChunkUnsigned("a chunk's signature is wrong")
        self._previous = right
        self._hash = sha256()

    def _read_trailer(self, line: bytes) -> None:
        line = line.strip()
        if not line:
            self._has_ended = True
            return
        name, colon, value = line.partition(b":")
        if not colon or len(self.trailers) >= TRAILERS_MAX:
            raise ChunksError("a trailer is malformed")
        text = name.strip().lower().decode("latin-1")
        self.trailers[text] = value.strip().decode("latin-1")
        if text != "x-amz-trailer-signature":
            self._trailer_lines += name.strip().lower() + b":" + value.strip() + b"\n"

    def _check_trailers(self) -> None:
        if self._signer is None or not self._trailer_lines:
            return
        right = self._signer.sign("TRAILER", self._previous, sha256(self._trailer_lines).hexdigest())
        given = self.trailers.get("x-amz-trailer-signature", "")
        if not hmac.compare_digest(right.encode(), given.encode("latin-1")):
            raise ChunkUnsigned("the signature of the trailers is wrong")
