"""A client of DAX's protocol that writes and reads its CBOR with a library: one connection,
one method at a time, values as they are on the wire.
"""

import hmac
import socket
from datetime import UTC, datetime
from hashlib import sha256
from io import BytesIO
from typing import Any, Self

import cbor2

METHOD_IDS = {
    "authorizeConnection": 1489122155,
    "endpoints": 455855874,
    "defineAttributeList": 670678385,
    "defineAttributeListId": -1230579644,
    "defineKeySchema": -742646399,
    "getItem": 263244906,
    "putItem": -2106490455,
    "updateItem": 1425579023,
    "deleteItem": 1013539361,
    "query": -931250863,
    "scan": -1875390620,
    "batchGetItem": -697851100,
    "batchWriteItem": 116217951,
    "transactGetItems": 1866287579,
    "transactWriteItems": -1160037738,
}
RESULTS = {"batchGetItem": 2, "batchWriteItem": 3}
"""Number of values of a result, if not one."""
HANDSHAKE = b"".join(map(cbor2.dumps, ("J7yne5G", 0, b"0123456789abcdef", {"UserAgent": "tests"}, 0)))


class DaxError(Exception):
    """An error of a node."""

    def __init__(self, codes: list[int], message: str, info: list[Any]) -> None:
        super().__init__(f"{codes} {message} {info}")
        self.codes, self.message, self.info = codes, message, info


def request_bytes(method: str, *arguments: Any) -> bytes:
    """A request."""
    return b"".join([cbor2.dumps(value, canonical=True) for value in (1, METHOD_IDS[method], *arguments)])


def authorization(
    access_key: str = "AKIDEXAMPLE", secret: str = "secret", region: str = "eu-west-1", **changes: Any
) -> bytes:
    """The request that says who the client is. `changes`: `date`, `service`, `token`, `signature`."""
    date = changes.get("date") or datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    service = changes.get("service", "dax")
    empty = sha256(b"").hexdigest()
    canonical = f"POST\n/\n\nhost:dax.amazonaws.com\nx-amz-date:{date}\n\nhost;x-amz-date\n{empty}"
    hashed = sha256(canonical.encode()).hexdigest()
    to_sign = f"AWS4-HMAC-SHA256\n{date}\n{date[:8]}/{region}/{service}/aws4_request\n{hashed}"
    key = b"AWS4" + secret.encode()
    for part in (date[:8], region, service, "aws4_request", to_sign):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = changes.get("signature") or key.hex()
    return request_bytes("authorizeConnection", access_key, signature, to_sign.encode(), changes.get("token"), "tests")


class DaxClient:
    """One connection."""

    def __init__(
        self, endpoint: str, *, authorize: bytes | None = None, connection: socket.socket | None = None
    ) -> None:
        """`endpoint` is such as `dax://127.0.0.1:8111`.
        `authorize`: the request that says who the client is; None: anybody.
        """
        host, port = endpoint.partition("//")[2].rsplit(":", 1)
        self.socket = connection or socket.create_connection((host, int(port)), timeout=30)
        self._stream = self.socket.makefile("rb")
        self._decoder = cbor2.CBORDecoder(self._stream)
        self.socket.sendall(HANDSHAKE + (authorization() if authorize is None else authorize))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection."""
        self._stream.close()
        self.socket.close()

    def call(self, method: str, *arguments: Any) -> Any:
        """The result of a method: its value, or its values.
        Raises DaxError, and EOFError if the node has disconnected.
        """
        self.send(method, *arguments)
        return self.receive(method)

    def send(self, method: str, *arguments: Any) -> None:
        """Send a request."""
        self.socket.sendall(request_bytes(method, *arguments))

    def receive(self, method: str) -> Any:
        """The result of the first request that has none."""
        status = self._value()
        if status:
            raise DaxError(status, self._value(), self._value())
        values = [self._value() for _ in range(RESULTS.get(method, 1))]
        return values[0] if len(values) == 1 else values

    def _value(self) -> Any:
        try:
            return self._decoder.decode()
        except cbor2.CBORDecodeEOF as error:
            raise EOFError from error

    # --- attribute lists ------------------------------------------------------------------------

    def item_bytes(self, **attributes: Any) -> bytes:
        """An item's attributes beside its key, as plain values."""
        names = sorted(attributes)
        list_id = self.call("defineAttributeListId", names) if names else 1
        return b"".join([cbor2.dumps(value) for value in (list_id, *[attributes[name] for name in names])])

    def item_of(self, content: bytes) -> dict[str, Any]:
        """The attributes in an item's bytes, as plain values."""
        values = all_values(content)
        names = self.call("defineAttributeList", values[0]) if values[0] != 1 else []
        assert len(names) == len(values) - 1
        return dict(zip(names, values[1:], strict=True))


def all_values(content: bytes) -> list[Any]:
    """The values that bytes hold."""
    values = []
    while content:
        stream = BytesIO(content)
        values.append(cbor2.CBORDecoder(stream).decode())
        content = content[stream.tell() :]
    return values


def expression(tree: Any, *values: Any) -> bytes:
    """A binary expression."""
    return cbor2.dumps([1, tree, list(values)])


def path(*elements: Any) -> list[Any]:
    """A path of an expression: names, and indices of lists as integers."""
    return [18, *[cbor2.CBORTag(3324, one) if isinstance(one, int) else one for one in elements]]


def value(place: int) -> list[int]:
    """The value of an expression at this place."""
    return [17, place]
