"""How does an AWS SDK for Python reach a database in the same process? Its requests are answered before they would be sent.

botocore asks `before-send` handlers first, behind parameter checks, serialization, endpoint and signature, and before any connection; its
retries and its parsing of replies are the same as ever. Source: botocore's events, `before-send.SERVICE.OPERATION`.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from hashrange.testing.in_process import InProcess

SERVICES = ("dynamodb", "dynamodb-streams")
"""Service ids, as events name them, of what is answered."""


class Transport:
    """Answers the requests of clients and sessions that it is attached to."""

    def __init__(self, database: InProcess) -> None:
        self._database = database

    def attach(self, target: Any) -> None:
        """From now on, answer what this boto3 or botocore client sends, or the clients that this session makes from now on."""
        events = _events_of(target)
        for service in SERVICES:
            events.register(f"before-send.{service}", self._answer, unique_id=f"hashrange-{id(self)}-{service}")

    def detach(self, target: Any) -> None:
        """End that; clients that a session has made meanwhile keep their handlers."""
        events = _events_of(target)
        for service in SERVICES:
            events.unregister(f"before-send.{service}", unique_id=f"hashrange-{id(self)}-{service}")

    def _answer(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        parts = urlsplit(request.url)
        url = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = {name: _text(value) for name, value in request.headers.items()}
        headers.setdefault("Host", parts.netloc)
        body = request.body or b""
        answer = self._database.ask(
            request.method, url, headers, body.encode() if isinstance(body, str) else bytes(body)
        )
        return AWSResponse(request.url, answer.status, answer.headers, _Body(answer.body))


class _Body:
    """What botocore reads of a reply, in urllib3's terms."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        """All of it, once."""
        body, self._body = self._body, b""
        yield body


def _events_of(target: Any) -> Any:
    """The event system of a client, of a boto3 session, or of a botocore session."""
    if hasattr(target, "get_component"):
        return target.get_component("event_emitter")
    return target.meta.events if hasattr(target, "meta") else target.events


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value
