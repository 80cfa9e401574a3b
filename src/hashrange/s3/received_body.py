"""How does the body of an upload become a file? It is decoded, hashed and written while it comes, on a thread;
at its end everything that the request said of it is compared.

No more of it is in memory than what has just come.
"""

import binascii
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from hashlib import md5, sha1, sha256, sha512
from typing import Any, NamedTuple, Protocol

from zlib_ng.zlib_ng import crc32

from hashrange.messages import s3 as say
from hashrange.s3.folder_files import FolderFiles, as_failures
from hashrange.s3.limits import CHUNK_BYTES_MIN, PUT_BYTES_MAX
from hashrange.s3.objects import S3Failure
from hashrange.s3.whole_files import NewFile
from hashrange.wire.chunk_decoder import ChunkDecoder, ChunkSigner, ChunkTooShort, ChunkUnsigned
from hashrange.wire.chunked_payload import MARKERS, ChunksError

SHORT_CHUNKS_MAX = 1000
"""Chunks below the least size that a body may have: our own bound. Some clients send what they have just read."""
CHECKSUM = "x-amz-checksum-"
_HEX_LENGTH = 64


class _Hash(Protocol):
    def update(self, data: Any, /) -> None:
        """Add data."""

    def digest(self) -> bytes:
        """The checksum of all data."""


class _Crc32:
    def __init__(self) -> None:
        self._value = 0

    def update(self, data: Any, /) -> None:
        """Add data."""
        self._value = crc32(data, self._value)

    def digest(self) -> bytes:
        """The checksum of all data."""
        return self._value.to_bytes(4, "big")


CHECKSUMS: Mapping[str, Callable[[], _Hash]] = {
    "crc32": _Crc32,
    "sha1": sha1,
    "sha256": sha256,
    "sha512": sha512,
    "md5": md5,
}
"""Checksums that are compared. Others, such as CRC-64, are not: no library that is installed computes them."""


class BodyClaims(NamedTuple):
    """What the head of a request says of its body."""

    content_sha256: str
    """A hash in hex, or a marker such as UNSIGNED-PAYLOAD."""
    content_md5: bytes | None = None
    checksum: tuple[str, str] | None = None
    """Algorithm, and value in base64; empty: it comes as a trailer."""
    length: int | None = None
    """Bytes of the content, without chunks; None: not known."""
    chunk_signer: ChunkSigner | None = None


def body_claims(headers: Mapping[str, str], chunk_signer: ChunkSigner | None, *, is_presigned: bool) -> BodyClaims:
    """What headers, by lower-case name, say of the body. Raises S3Failure."""
    content_sha256 = headers.get("x-amz-content-sha256", "UNSIGNED-PAYLOAD" if is_presigned else "")
    if not content_sha256:
        raise S3Failure("InvalidRequest", say.CONTENT_SHA256_MISSING)
    is_hash = len(content_sha256) == _HEX_LENGTH and set(content_sha256) <= set("0123456789abcdef")
    if not is_hash and content_sha256 != "UNSIGNED-PAYLOAD" and content_sha256.encode() not in MARKERS:
        raise S3Failure("InvalidArgument", say.CONTENT_SHA256_INVALID)
    given_md5 = headers.get("content-md5")
    content_md5 = None if given_md5 is None else _decoded(given_md5, 16, "InvalidDigest", say.INVALID_DIGEST)
    is_chunked = content_sha256.encode() in MARKERS
    length = headers.get("x-amz-decoded-content-length" if is_chunked else "content-length")
    size_bytes = int(length) if length is not None and length.isascii() and length.isdigit() else None
    if size_bytes is not None and size_bytes > PUT_BYTES_MAX:
        raise entity_too_large()
    return BodyClaims(content_sha256, content_md5, _checksum_in(headers), size_bytes, chunk_signer)


def entity_too_large() -> S3Failure:
    """The error of a body that is longer than one request may bring."""
    return S3Failure("EntityTooLarge", say.ENTITY_TOO_LARGE, 400, MaxSizeAllowed=PUT_BYTES_MAX)


def _checksum_in(headers: Mapping[str, str]) -> tuple[str, str] | None:
    """The first checksum that can be compared."""
    for algorithm in CHECKSUMS:
        name = CHECKSUM + algorithm
        if name in headers:
            return algorithm, headers[name]
        if name in headers.get("x-amz-trailer", "").lower():
            return algorithm, ""
    return None


def _decoded(text: str, length: int, code: str, message: str) -> bytes:
    try:
        value = b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        value = b""
    if len(value) != length:
        raise S3Failure(code, message)
    return value


class ReceivedBody:
    """The body of one request, and the file that it becomes. One thread at a time may use it."""

    def __init__(self, files: FolderFiles, claims: BodyClaims) -> None:
        """Raises S3Failure."""
        self.file: NewFile = as_failures(files.begin_file)()
        self._claims = claims
        is_chunked = claims.content_sha256.encode() in MARKERS
        self._decoder = ChunkDecoder(claims.chunk_signer, CHUNK_BYTES_MIN, SHORT_CHUNKS_MAX) if is_chunked else None
        self._md5 = md5()
        self._sha256 = None if is_chunked or claims.content_sha256 == "UNSIGNED-PAYLOAD" else sha256()
        self._checksum = None if claims.checksum is None else CHECKSUMS[claims.checksum[0]]()

    @property
    def etag(self) -> str:
        """The ETag of an object or part with this content."""
        return self._md5.hexdigest()

    def take(self, data: bytes) -> None:
        """Take what has come next. Raises S3Failure."""
        try:
            if self._decoder is None:
                self._write(data)
                return
            for piece in self._decoder.feed(data):
                self._write(piece)
        except (ChunksError, ChunkUnsigned, ChunkTooShort) as error:
            raise _chunk_failure(error) from error

    @as_failures
    def _write(self, data: bytes | memoryview) -> None:
        if self.file.size_bytes + len(data) > PUT_BYTES_MAX:
            raise entity_too_large()
        self._md5.update(data)
        if self._sha256 is not None:
            self._sha256.update(data)
        if self._checksum is not None:
            self._checksum.update(data)
        self.file.write(data)

    def end(self) -> None:
        """The body has come whole: compare it with what the request said. Raises S3Failure."""
        claims = self._claims
        if self._decoder is not None:
            try:
                self._decoder.end()
            except (ChunksError, ChunkUnsigned) as error:
                raise _chunk_failure(error) from error
        if claims.length is not None and claims.length != self.file.size_bytes:
            raise S3Failure("IncompleteBody", say.INCOMPLETE_BODY)
        if self._sha256 is not None and self._sha256.hexdigest() != claims.content_sha256:
            raise S3Failure("XAmzContentSHA256Mismatch", say.CONTENT_SHA256_MISMATCH)
        if claims.content_md5 is not None and self._md5.digest() != claims.content_md5:
            raise S3Failure("BadDigest", say.BAD_DIGEST)
        if claims.checksum is not None:
            self._check_checksum(*claims.checksum)

    def _check_checksum(self, algorithm: str, value: str) -> None:
        if not value:
            value = "" if self._decoder is None else self._decoder.trailers.get(CHECKSUM + algorithm, "")
        assert self._checksum is not None
        if b64encode(self._checksum.digest()).decode() != value:
            raise S3Failure("BadDigest", say.BAD_CHECKSUM.format(algorithm=algorithm.upper()))


def _chunk_failure(error: Exception) -> S3Failure:
    match error:
        case ChunkUnsigned():
            return S3Failure("SignatureDoesNotMatch", say.SIGNATURE_MISMATCH, 403)
        case ChunkTooShort():
            return S3Failure("InvalidChunkSizeError", say.CHUNK_TOO_SMALL, 403)
        case _:
            return S3Failure("IncompleteBody", say.INCOMPLETE_BODY)
