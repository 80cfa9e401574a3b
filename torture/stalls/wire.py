"""Which bytes are sent? A hostile request, signed as its kind requires, right before it is sent."""

import re

from benchmarks.signing import SECRET_KEY, Signer
from torture.kinds.kind import Hostile, Kind

_AUTHORIZATION = re.compile(rb"Authorization: [^\r]*\r\n")


def request_bytes(kind: Kind, request: Hostile, port: int) -> bytes:
    """Return head and body for the server on that port of the loopback."""
    secret = "not the secret" if kind.signature == "wrong" else SECRET_KEY
    more_headers = "".join(f"{name}: {value}\r\n" for name, value in request.headers)
    signer = Signer(f"127.0.0.1:{port}", secret)
    if request.chunk_bytes:
        return signer.streamed(request.operation, request.body, request.chunk_bytes, more_headers)
    signed = signer.request(request.operation, request.body, more_headers)
    if kind.signature != "none":
        return signed
    head_length = len(signed) - len(request.body)
    return _AUTHORIZATION.sub(b"", signed[:head_length]) + request.body
