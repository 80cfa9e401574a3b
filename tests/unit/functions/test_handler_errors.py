"""Is what a handler says of its error short and harmless where it is logged, and are no objects made of the rest?"""

import tracemalloc
from typing import Any

import msgspec
import pytest

from hashrange.functions import handler_errors
from hashrange.functions.handler_errors import (
    MESSAGE_CHARACTERS_MAX,
    HandlerError,
    described,
    logged_text,
    read_handler_error,
    trace_digest,
)
from hashrange.items.steps import PIECE_BYTES
from hashrange.limits import FUNCTION_ERROR_TYPE_LENGTH_MAX
from tests.support.working import give_way_always


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        (b'{"errorType": "E", "errorMessage": "m", "stackTrace": []}', HandlerError("E", "m", b"[]")),
        (b'{"errorType": 7, "errorMessage": null}', HandlerError("", "")),
        (b'{"errorType": "\\u001b"}', HandlerError("\x1b", "")),
        (b"{}", HandlerError("", "")),
        (b"[]", None),
        (b"\xff", None),
        (b'{"errorType": "\xff"}', None),
        (b'{"errorMessage": "E \xe2\x82"}', None),
        (b"[" * 100_000, None),
        (b'{"x":' * 100_000, None),
        (b'{"errorType": "%b"}' % (b"x" * 1000), HandlerError("x" * FUNCTION_ERROR_TYPE_LENGTH_MAX, "")),
    ],
    ids=range(11),
)
def test_type_and_message_are_read(payload: bytes, error: HandlerError | None) -> None:
    assert read_handler_error(payload) == error


@pytest.mark.parametrize("unit", [r"\u0041", r"\ud83d\ude00", "A", "é", "😀", r"\\", r"\"", r"\n", r"a\u00e9€"])
@pytest.mark.parametrize("before", ["", "1", "12", "12345"])
def test_of_long_texts_the_beginning_is_decoded(unit: str, before: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """To decode 6 MB takes 12 ms. A text is never cut within a character."""
    decoded: list[int] = []

    def noted(text: Any) -> str:
        decoded.append(len(text))
        return msgspec.json.decode(text, type=str)

    text = before + unit * 200_000
    whole = msgspec.json.decode(f'"{text}"', type=str)
    monkeypatch.setattr(handler_errors, "_decode_text", noted)
    error = read_handler_error(f'{{"errorType":"{text}","errorMessage":"{text}"}}'.encode())
    assert error == HandlerError(whole[:FUNCTION_ERROR_TYPE_LENGTH_MAX], whole[:MESSAGE_CHARACTERS_MAX])
    assert max(decoded) <= 12 * MESSAGE_CHARACTERS_MAX + 2


def test_no_objects_are_made_of_the_rest() -> None:
    payload = b'{"errorType":"E","x":[' + b"[]," * 100_000 + b"1]}"
    tracemalloc.start()
    try:
        read_handler_error(payload)
        assert tracemalloc.get_traced_memory()[1] < len(payload)
    finally:
        tracemalloc.stop()


def test_whoever_reads_a_long_error_gives_way_before() -> None:
    async def read() -> None:
        assert read_handler_error(msgspec.json.encode({"errorType": "E" * PIECE_BYTES})) is not None

    assert give_way_always(read())[0] >= 1


def test_text_in_the_log_is_short_and_commands_no_terminal() -> None:
    assert logged_text("a\x1b[2J\x07\u202e\nb") == r"a\x1b[2J\x07\u202e\nb"
    assert logged_text("x" * 5_000) == "x" * 1_000 + "..."


def error_of(**members: Any) -> HandlerError:
    error = read_handler_error(msgspec.json.encode(members))
    assert error is not None
    return error


PYTHON_TRACE = [
    '  File "/var/code/app.py", line 9, in handler\n    load()\n',
    '  File "/var/code/shop/orders.py", line 21, in load\n    boto3.client("x")\n',
    '  File "/venv/lib/python3.11/site-packages/boto3/__init__.py", line 92, in client\n    return x\n',
]
NODE_TRACE = [
    "RangeError: no order",
    "    at check (/var/code/node_modules/shop/index.js:3:9)",
    "    at Object.<anonymous> (file:///var/my%20code/index.mjs:7:1)",
    "    at Module._compile (node:internal/modules/cjs/loader:1495:14)",
    "    at file:///opt/hashrange/functions/runtimes/node_runtime.mjs:141:5",
]


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"errorType": "E", "errorMessage": "m.", "stackTrace": PYTHON_TRACE}, "E: m (orders.py, line 21)"),
        ({"errorType": "E", "errorMessage": "m", "stackTrace": PYTHON_TRACE[2:]}, "E: m"),
        (
            {"errorType": "E", "errorMessage": "m", "stackTrace": ['  File "/c/app.py" Line 2\n    x = (\n']},
            "E: m (app.py, line 2)",
        ),
        (
            {"errorType": "E", "errorMessage": "bad (app.py, line 2)", "stackTrace": ['  File "/c/app.py" Line 2\n']},
            "E: bad (app.py, line 2)",
        ),
        ({"errorType": "E", "errorMessage": "m", "trace": NODE_TRACE}, "E: m (index.mjs, line 7)"),
        (
            {
                "errorType": "E",
                "errorMessage": "m",
                "trace": ["/c/index.js:3", "  x = (", "", "SyntaxError: m", *NODE_TRACE[2:]],
            },
            "E: m (index.js, line 3)",
        ),
        ({"errorType": "E", "errorMessage": "m", "trace": NODE_TRACE[3:]}, "E: m"),
        ({"errorType": "E", "errorMessage": "m", "trace": 7}, "E: m"),
        ({"errorType": "E"}, "E"),
        ({}, ""),
    ],
)
def test_an_error_is_described_with_its_place_in_the_users_code(members: dict[str, Any], text: str) -> None:
    assert described(error_of(**members)) == text


def test_errors_are_the_same_if_type_and_trace_are() -> None:
    python = {"errorType": "E", "errorMessage": "1", "stackTrace": PYTHON_TRACE, "requestId": "1"}
    same: list[dict[str, Any]] = [{"requestId": "2"}, {"errorMessage": "2"}]
    for members in same:
        assert trace_digest(error_of(**python | members)) == trace_digest(error_of(**python))
    others: list[dict[str, Any]] = [{"errorType": "F"}, {"stackTrace": PYTHON_TRACE[1:]}]
    for members in others:
        assert trace_digest(error_of(**python | members)) != trace_digest(error_of(**python))
    node = [
        {"errorType": "E", "errorMessage": text, "trace": [f"E: {text}", *NODE_TRACE[1:]]}
        for text in ('no "order" 1', "2")
    ]
    assert len({trace_digest(error_of(**one)) for one in node}) == 1


def test_a_place_is_looked_for_in_the_ends_of_a_trace_alone() -> None:
    lines = [f"x/{'y' * 100}.js:1 (" * 10] * 10_000
    error = error_of(errorType="E", errorMessage="m", trace=lines)
    assert len(error.trace) == 64 * 1024
    assert described(error).endswith(".js, line 1)")
