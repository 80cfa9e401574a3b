"""The access log's lines: the exception that a client hears stands at the end of a refusal's."""

import re

import pytest

from hashrange.server.access_log import log_access
from tests.unit.server.harness import FrontEnd


@pytest.fixture
def front() -> FrontEnd:
    return FrontEnd()


def lines(front: FrontEnd, data: bytes, caplog: pytest.LogCaptureFixture) -> list[str]:
    """What is logged for these bytes, request ids replaced."""
    caplog.set_level("INFO", "hashrange.access")
    front.connections.access_log = log_access
    front.ask(data)
    return [re.sub(r"\b[0-9A-Z]{52}\b", "ID", message) for message in caplog.messages]


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (b'{"TableName":"music"}', r"- POST / DynamoDB_20120810\.GetItem 200 \d+ ID"),
        (b'{"TableName":5}', r"- POST / DynamoDB_20120810\.GetItem 400 \d+ ID SerializationException"),
        (b"{}", r"- POST / DynamoDB_20120810\.GetItem 400 \d+ ID ValidationException"),
    ],
)
def test_a_refusal_names_its_exception(
    front: FrontEnd, caplog: pytest.LogCaptureFixture, body: bytes, line: str
) -> None:
    (found,) = lines(front, front.request(body), caplog)
    assert re.fullmatch(line, found), found


def test_what_is_no_call_names_its_exception_too(front: FrontEnd, caplog: pytest.LogCaptureFixture) -> None:
    (found,) = lines(front, b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n", caplog)
    assert re.fullmatch(r"- GET /nothing - 404 \d+ ID UnknownOperationException", found), found


def test_what_a_client_says_is_no_exception(front: FrontEnd, caplog: pytest.LogCaptureFixture) -> None:
    """A reply that succeeded is not looked at, and a health check's text names none."""
    (found,) = lines(front, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", caplog)
    assert re.fullmatch(r"- GET / - 200 \d+ ID", found), found
