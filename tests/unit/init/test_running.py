"""A request of the init folder meets the checks of one that came over the API,
and is sent again while the store is busy.
"""

import asyncio
import gzip
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hashrange.aws_services.operation import Operation
from hashrange.clock import SystemClock
from hashrange.errors import ApiError, StorageBusy
from hashrange.init import applying
from hashrange.init import files as init_files
from hashrange.init.applying import ATTEMPTS_MAX, LINES_TOGETHER, TOGETHER_BYTES, carry_out
from hashrange.items.steps import PIECE_BYTES
from hashrange.limits import BODY_BYTES_MAX
from hashrange.operations.operation import JsonWire
from hashrange.operations.registry import OPERATIONS
from hashrange.service import initial_content
from tests.support.scopes import scope_of
from tests.support.stores import make_store
from tests.unit.init.folders import USERS, begun, make_folder, users_in

BODY = b'{"TableName": "Users", "Item": {"id": {"S": "a"}}}'


async def carried_out(operation: Operation[JsonWire], body: bytes) -> None:
    store = make_store()
    try:
        await carry_out(scope_of(store, SystemClock()), operation, body)
    finally:
        await store.close()


class Busy:
    """An operation that is busy, or leaves items unprocessed, `times` times."""

    def __init__(self, times: int, reply: dict[str, Any] | None) -> None:
        self.times = times
        self.reply = reply
        self.attempts = 0

    async def run(self, scope: object, request: object, meter: object) -> dict[str, Any]:
        self.attempts += 1
        if self.attempts > self.times:
            return {}
        if self.reply is None:
            raise StorageBusy("the engine is stalled")
        return self.reply

    @property
    def operation(self) -> Operation[JsonWire]:
        """The record of an operation that runs this."""
        return msgspec.structs.replace(OPERATIONS["PutItem"], run=self.run)


LEFT: dict[str, Any] = {"UnprocessedItems": {"Users": [{}]}}


@pytest.mark.parametrize("reply", [None, LEFT])
def test_it_is_sent_again_while_the_store_is_busy(reply: dict[str, Any] | None) -> None:
    busy = Busy(ATTEMPTS_MAX - 1, reply)
    asyncio.run(carried_out(busy.operation, BODY))
    assert busy.attempts == ATTEMPTS_MAX


@pytest.mark.parametrize(("reply", "sentence"), [(None, "is stalled"), (LEFT, "PutItem could not write all its items")])
def test_it_is_not_sent_for_ever(reply: dict[str, Any] | None, sentence: str) -> None:
    busy = Busy(ATTEMPTS_MAX, reply)
    with pytest.raises(StorageBusy, match=sentence):
        asyncio.run(carried_out(busy.operation, BODY))
    assert busy.attempts == ATTEMPTS_MAX


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (b"7", "SerializationException", None),
        (
            b'{"TableName": "Users", "Item": {"id": {"S": 7}}}',
            "SerializationException",
            "cannot be converted to String",
        ),
        (
            b'{"TableName": "Users", "Item": {"id": {"S": "a"}}, "ReturnValues": "ALL"}',
            "ValidationException",
            "ALL_NEW",
        ),
        (b'{"TableName": "a b", "Item": {"id": {"NULL": false}}}', "ValidationException", "regular expression pattern"),
        (b'{"TableName": "Users", "Item": {}, "Expected": {"id": {"Exists": 7}}}', "SerializationException", ""),
        (BODY, "ResourceNotFoundException", "Requested resource not found"),
    ],
)
def test_the_first_fault_is_told_in_the_services_words(body: bytes, code: str, message: str | None) -> None:
    with pytest.raises(ApiError) as caught:
        asyncio.run(carried_out(OPERATIONS["PutItem"], body))
    assert caught.value.code == code
    if message is None:
        assert caught.value.message is None
    else:
        assert message in str(caught.value.message)


def test_lines_of_blanks_hold_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compressed file of 20 KB may have 20 million of them."""
    first, last = b'{"id": "first"}\n', b'{"id": "last"}\n'
    blanks = b"\n" * (3 * LINES_TOGETHER) + (b" " * TOGETHER_BYTES + b"\n") * 3
    folder = make_folder(tmp_path / "init", {"A.json": USERS, "Users.jsonl.gz": gzip.compress(first + blanks + last)})
    turns = 0

    async def in_go(work: Coroutine[Any, Any, Any]) -> Any:
        nonlocal turns
        turns += 1
        return await work

    monkeypatch.setattr(initial_content, "_in_task", in_go)
    with begun(folder) as database:
        assert users_in(database.client()).keys() == {"first", "last"}
    assert turns >= 6, "others have their turn between the pieces of the work"


def test_a_request_of_very_many_members_is_decoded_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """An item of 100,000 numbers was decoded in one step of 20 to 40 ms."""
    item = {"id": {"S": "a"}, "l": {"L": [{"N": "1"}] * 50_000}}
    body = msgspec.json.encode({"TableName": "Users", "Item": item})
    expected = msgspec.json.decode(body, type=OPERATIONS["PutItem"].request)
    sizes: list[int] = []
    decode = msgspec.json.decode

    def noted(text: bytes, **kind: Any) -> Any:
        sizes.append(len(text))
        return decode(text, **kind)

    monkeypatch.setattr(msgspec.json, "decode", noted)
    assert applying._decoded(OPERATIONS["PutItem"], body) == expected
    assert max(sizes) <= PIECE_BYTES + 2
    assert applying._decoded(OPERATIONS["PutItem"], BODY) == decode(BODY, type=OPERATIONS["PutItem"].request)


def test_files_are_read_where_work_gives_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scanned = {"Items": [{"id": {"S": "a"}}]}
    line = gzip.compress(b'{"id": "b"}\n')
    folder = make_folder(tmp_path / "init", {"A.json": [USERS], "Users.json": scanned, "Users.jsonl.gz": line})
    depth = 0
    depths: list[int] = []

    async def in_go(work: Coroutine[Any, Any, Any]) -> Any:
        nonlocal depth
        depth += 1
        try:
            return await work
        finally:
            depth -= 1

    def noted(read: Callable[..., Any]) -> Callable[..., Any]:
        def read_and_note(*given: Any) -> Any:
            depths.append(depth)
            return read(*given)

        return read_and_note

    for name in ("is_batch", "scanned_items", "requests_in", "_together"):
        monkeypatch.setattr(applying, name, noted(getattr(applying, name)))
    monkeypatch.setattr(initial_content, "_in_task", in_go)
    with begun(folder) as database:
        assert users_in(database.client()).keys() == {"a", "b"}
    assert depths == [1] * 7


@pytest.mark.parametrize("ending", [b"", b"\n", b"\nnext\n"])
@pytest.mark.parametrize("length", [1, init_files.PIECE_BYTES, 3 * init_files.PIECE_BYTES - 1, BODY_BYTES_MAX - 1])
def test_a_long_line_is_inflated_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int, ending: bytes
) -> None:
    looks = 0

    def look() -> None:
        nonlocal looks
        looks += 1

    monkeypatch.setattr(init_files, "look", look)
    path = tmp_path / "Users.jsonl.gz"
    path.write_bytes(gzip.compress(b"x" * length + ending, compresslevel=1))
    lines = list(init_files.read_lines(init_files.InitFile(str(path), path.name, "", "", "lines")))
    assert lines == list(enumerate((b"x" * length + ending).splitlines(keepends=True), 1))
    assert looks >= length // init_files.PIECE_BYTES
