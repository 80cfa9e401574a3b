"""Which bytes are sent? Hostile requests, signed as their kind requires, right before they are sent."""

import re

from benchmarks.signing import SECRET_KEY, Signer
from torture.kinds.kind import Hostile, Kind, Signature

_AUTHORIZATION = re.compile(rb"Authorization: [^\r]*\r\n")


def requests_bytes(kind: Kind, request: Hostile, port: int) -> list[bytes]:
    """Return the bytes of the request, and of those that each client sends after it."""
    return [whole_bytes(each, port, kind.signature) for each in (request, *request.then)]


def whole_bytes(request: Hostile, port: int, signature: Signature = "right") -> bytes:
    """Return head and body for the server on that port of the loopback."""
    if request.raw is not None:
        return request.raw(f"127.0.0.1:{port}")
    secret = "not the secret" if signature == "wrong" else SECRET_KEY
    more_headers = "".join(f"{name}: {value}\r\n" for name, value in request.headers)
    signer = Signer(f"127.0.0.1:{port}", secret)
    if request.chunk_bytes:
        return signer.streamed(request.operation, request.body, request.chunk_bytes, more_headers)
    signed = signer.request(request.operation, request.body, more_headers)
    if signature != "none":
        return signed
    head_length = len(signed) - len(request.body)
    return _AUTHORIZATION.sub(b"", signed[:head_length]) + request.body
