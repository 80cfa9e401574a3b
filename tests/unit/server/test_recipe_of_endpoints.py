"""ARCHITECTURE's recipe for a new endpoint of the admin API, followed literally: a record, and a line in a list."""

from typing import Any

import msgspec
import pytest

from hashrange.aws_services.operation import Operation
from hashrange.server.protocols.admin import registry
from hashrange.server.protocols.admin.endpoint import AdminWire, Refused, Serving
from hashrange.settings import Settings
from tests.unit.server.harness import FrontEnd, Parsed, as_bytes, reply

NO_WORDS = "Say at least one word."


class EchoedWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Request: words."""

    words: list[str]


async def echo_words(serving: Serving, request: EchoedWords, name: str) -> dict[str, object]:
    """Return the words, and to whom they are said. Raises Refused."""
    if not request.words:
        raise Refused(409, NO_WORDS)
    return {"to": name, "words": request.words}


ENDPOINT = Operation("POST echoes/NAME", EchoedWords, echo_words, AdminWire('{"words": ["a"]}', 64))


@pytest.fixture
def front(monkeypatch: pytest.MonkeyPatch) -> FrontEnd:
    """A front end whose admin API has one more endpoint."""
    monkeypatch.setattr(registry, "ENDPOINTS", (*registry.ENDPOINTS, ENDPOINT))
    return FrontEnd(settings=Settings(admin=True))


def ask(front: FrontEnd, body: bytes, path: str = "echoes/Ann", method: str = "POST") -> Parsed:
    connection, transport = front.connect()
    transport.peer = ("127.0.0.1", 40_000)
    headers = {"Host": "localhost:8000", "Content-Length": str(len(body))}
    connection.data_received(as_bytes(headers, body, f"{method} /_hashrange/v1/{path} HTTP/1.1"))
    return reply(transport.take())


def test_it_answers(front: FrontEnd) -> None:
    answer = ask(front, b'{"words": ["x"]}')
    assert (answer.status, msgspec.json.decode(answer.body)) == (200, {"to": "Ann", "words": ["x"]})


@pytest.mark.parametrize(
    ("request_", "status", "part"),
    [
        ({"body": b'{"words": []}'}, 409, NO_WORDS),
        ({"body": b'{"words": "x"}'}, 400, '{"words": ["a"]}'),
        ({"body": b'{"words": ["' + b"x" * 64 + b'"]}'}, 413, "64"),
        ({"body": b"", "method": "GET"}, 405, "POST"),
        ({"body": b"", "path": "echoes"}, 404, "POST /_hashrange/v1/echoes/NAME"),
    ],
)
def test_it_refuses(front: FrontEnd, request_: dict[str, Any], status: int, part: str) -> None:
    answer = ask(front, **request_)
    assert answer.status == status
    assert part in answer.body.decode().replace("\\", "")
