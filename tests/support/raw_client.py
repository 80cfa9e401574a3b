"""Requests without an SDK: the bytes sent are exactly those that the test specifies."""

import http.client
import json
import time
from typing import Any, NamedTuple

from tests.support.signing import ACCESS_KEY, REGION, SECRET_KEY, sign

TARGET_PREFIX = "DynamoDB_20120810."
CONTENT_TYPE = "application/x-amz-json-1.0"


class Reply(NamedTuple):
    """A reply; header names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body, decoded."""
        return json.loads(self.body)


class RawClient:
    """Sends one request per call, correctly signed unless the test says otherwise."""

    def __init__(
        self,
        host: str,
        port: int,
        region: str = REGION,
        access_key: str = ACCESS_KEY,
        secret: str = SECRET_KEY,
    ) -> None:
        self.host = host
        self.port = port
        self.region = region
        self.access_key = access_key
        self.secret = secret

    def __call__(
        self,
        target: str | None,
        body: bytes | dict[str, Any],
        headers: dict[str, str] | None = None,
        *,
        method: str = "POST",
        path: str = "/",
        is_signed: bool = True,
    ) -> Reply:
        """`target` is the operation's name (or a whole target, if it has a dot); `headers` are added before signing."""
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        complete = {"Host": f"{self.host}:{self.port}", "Content-Type": CONTENT_TYPE}
        if target is not None:
            complete["X-Amz-Target"] = target if "." in target else TARGET_PREFIX + target
        complete.update(headers or {})
        if is_signed:
            complete = sign(
                complete, sent, seconds=time.time(), access_key=self.access_key, secret=self.secret, region=self.region,
                method=method, path=path,
            )  # fmt: skip
        return self.send(method, path, complete, sent)

    def send(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Reply:
        """Send one request with exactly these headers, and a Host if they have none."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        try:
            connection.putrequest(method, path, skip_host="Host" in headers, skip_accept_encoding=True)
            for name, value in headers.items():
                connection.putheader(name, value)
            if "Content-Length" not in headers and "Transfer-Encoding" not in headers:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            reply = connection.getresponse()
            return Reply(reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read())
        finally:
            connection.close()
