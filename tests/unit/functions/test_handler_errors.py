"""Is what a handler says of its error short and harmless where it is logged, and are no objects made of the rest?"""

import tracemalloc

import pytest

from hashrange.functions.handler_errors import HandlerError, logged_text, read_handler_error
from hashrange.limits import FUNCTION_ERROR_TYPE_LENGTH_MAX


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        (b'{"errorType": "E", "errorMessage": "m", "stackTrace": []}', HandlerError("E", "m")),
        (b'{"errorType": 7, "errorMessage": null}', HandlerError("", "")),
        (b'{"errorType": "\\u001b"}', HandlerError("\x1b", "")),
        (b"{}", HandlerError("", "")),
        (b"[]", None),
        (b"\xff", None),
        (b"[" * 100_000, None),
        (b'{"x":' * 100_000, None),
        (b'{"errorType": "%b"}' % (b"x" * 1000), HandlerError("x" * FUNCTION_ERROR_TYPE_LENGTH_MAX, "")),
    ],
    ids=range(9),
)
def test_type_and_message_are_read(payload: bytes, error: HandlerError | None) -> None:
    assert read_handler_error(payload) == error


def test_no_objects_are_made_of_the_rest() -> None:
    payload = b'{"errorType":"E","x":[' + b"[]," * 100_000 + b"1]}"
    tracemalloc.start()
    try:
        read_handler_error(payload)
        assert tracemalloc.get_traced_memory()[1] < len(payload)
    finally:
        tracemalloc.stop()


def test_text_in_the_log_is_short_and_commands_no_terminal() -> None:
    assert logged_text("a\x1b[2J\x07\u202e\nb") == r"a\x1b[2J\x07\u202e\nb"
    assert logged_text("x" * 5_000) == "x" * 1_000 + "..."
