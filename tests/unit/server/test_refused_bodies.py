"""A refused body is freed at once: no exception that is kept refers to the frames that hold it."""

from types import FrameType

import pytest

from hashrange.wire import body_members
from tests.support.garbage import garbage_made
from tests.unit.server.harness import FrontEnd, reply

pytestmark = pytest.mark.usefixtures("only_new_garbage")

LARGE = b" " * 40_000
REFUSED = {
    "too many members": (b'{"TableName":"music","a":[' + b"1," * 30_000 + b"1]}", {}, b"more than"),
    "lists in lists": (b'{"TableName":"music","a":' + b"[" * 500 + b"]" * 500 + LARGE + b"}", {}, b"more than"),
    "no JSON": (b'{"TableName":' + LARGE + b"}", {}, b"SerializationException"),
    "no object": (b"[" + LARGE + b"]", {}, b"SerializationException"),
    "another type": (b'{"TableName":[]' + LARGE + b"}", {}, b"SerializationException"),
    "no operation": (b'{"TableName":"music"' + LARGE + b"}", {"X-Amz-Target": "x"}, b"UnknownOperationException"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_body_leaves_no_frames_to_the_collector(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_members, "REQUEST_MEMBERS_MAX", 400)
    body, headers, expected = REFUSED[name]
    with garbage_made() as garbage:
        front = FrontEnd()
        answered = reply(front.ask(front.request(body, headers=headers)))
        assert expected in answered.body, answered.body
        left = garbage()
    frames = [one for one in left if isinstance(one, FrameType) and "hashrange" in one.f_code.co_filename]
    assert frames == []
