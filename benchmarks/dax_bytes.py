"""What does a client of a DAX node send first? Handshake and authorization, of a server that checks no signatures."""

import time
from hashlib import sha256

from hashrange.wire.dax.requests import MAGIC, METHODS
from hashrange.wire.dax.writing import NULL, head, write_bytes, write_integer, write_text

IDS = {name: number for number, (name, _) in METHODS.items()}
"""Name of a method → its id."""


def as_bytes(content: bytes) -> bytes:
    """A byte string."""
    out = bytearray()
    write_bytes(out, content)
    return bytes(out)


def hello(region: str) -> bytes:
    """Handshake and authorization, of a server that checks no signatures."""
    out = bytearray()
    write_text(out, MAGIC)
    out += head(0, 0) + NULL + head(5, 0) + head(0, 0) + head(0, 1)
    write_integer(out, IDS["authorizeConnection"])
    date = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    to_sign = f"AWS4-HMAC-SHA256\n{date}\n{date[:8]}/{region}/dax/aws4_request\n{sha256().hexdigest()}"
    write_text(out, "AKIDEXAMPLE")
    write_text(out, "0" * 64)
    return bytes(out) + as_bytes(to_sign.encode()) + NULL + NULL
