"""Payloads of functions in the test's process: files go in and come out, as over HTTP."""

import io
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hashrange.settings import Settings
from hashrange.testing import server

PAYLOAD = b'{"a": 1}'
READERS: dict[str, Callable[[Any], Any]] = {
    "read": lambda payload: payload.read(),
    "read in parts": lambda payload: payload.read(3) + payload.read(),
    "lines": lambda payload: b"".join(payload.readlines()),
    "text": lambda payload: io.TextIOWrapper(payload).read().encode(),
    "into": lambda payload: PAYLOAD[: payload.readinto(bytearray(100))],
    "told": lambda payload: payload.read()[: payload.tell()],
}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as file:
        file.writestr("m.py", "def handle(event, context): return event")
    with server(Settings(data_dir=None, functions=True)) as database:
        client = database.client("lambda")
        client.create_function(
            FunctionName="f",
            Runtime="python3.11",
            Role="arn:aws:iam::000000000000:role/x",
            Handler="m.handle",
            Code={"ZipFile": zipped.getvalue()},
        )
        yield client


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@pytest.mark.parametrize("sent", [PAYLOAD, bytearray(PAYLOAD), PAYLOAD.decode(), io.BytesIO], ids=str)
def test_a_payload_goes_in_and_comes_out(client: Any, sent: Any, read: Callable[[Any], Any]) -> None:
    payload = sent(PAYLOAD) if sent is io.BytesIO else sent
    assert read(client.invoke(FunctionName="f", Payload=payload)["Payload"]) == PAYLOAD
