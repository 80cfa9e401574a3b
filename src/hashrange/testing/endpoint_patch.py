"""How do clients reach a database that they know nothing of? botocore's endpoints ask it instead of the network.

Every client calls `Endpoint.make_request` for each request; aiobotocore's endpoints inherit that method. While a database
is to answer, the method is replaced: requests to DynamoDB and DynamoDB Streams are made by a copy of the endpoint whose
`_send` asks the database. Parameter checks, events, signatures, retries and the parsing of replies are still botocore's.

A `before-send` handler that answers a request is heard first: so do the clients of a `Database` reach their own database.
Only moto's handler is not called. Blocks on several threads and tasks may overlap: `blocks.py` says which one answers.
"""

import asyncio
import copy
import importlib
import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from botocore.awsrequest import AWSPreparedRequest
from botocore.credentials import Credentials
from botocore.endpoint import Endpoint
from botocore.exceptions import NoCredentialsError

from hashrange.testing.blocks import Block, OpenBlocks
from hashrange.testing.botocore_transport import SERVICES, Transport, moto_handlers

MakeRequest = Callable[[Any, Any, dict[str, Any]], Any]

MOTO_REGISTRATIONS_MAX = 2
"""Most times that moto registers its handler with a client: with all clients once, and again if it is told to patch a client."""

_lock = threading.RLock()
_blocks: OpenBlocks[Transport] = OpenBlocks()
"""The databases that are to answer."""
_former: MakeRequest | None = None
"""`Endpoint.make_request` as it was before ours replaced it; None if ours never did."""
_replacement: MakeRequest | None = None


@contextmanager
def answered_by(transport: Transport) -> Iterator[None]:
    """While the block runs, this database answers the requests of all clients in all threads.

    If blocks overlap, each answers the requests of the thread or asyncio task that began it; an inner block comes first.
    """
    block = Block(transport)
    try:
        _begin(block)
        yield
    finally:
        _end(block)


def _begin(block: Block[Transport]) -> None:
    global _former, _replacement
    with _lock:
        if not _blocks:
            _former = Endpoint.make_request
            Endpoint.make_request = _replacement = _asking(Endpoint.make_request)
        _blocks.add(block)


def _end(block: Block[Transport]) -> None:
    """Blocks may end in any order. If other code has put its method over ours, both stay, and ours does nothing."""
    with _lock:
        _blocks.remove(block)
        if not _blocks and Endpoint.make_request is _replacement:
            Endpoint.make_request = _former


def _asking(original: MakeRequest) -> MakeRequest:
    """`Endpoint.make_request` that asks the database of the block around it, if there is one and the request is for it."""

    @wraps(original)
    def make_request(endpoint: Any, operation_model: Any, request_dict: dict[str, Any]) -> Any:
        block = _blocks.innermost()
        if block is None or operation_model.service_model.service_id.hyphenize() not in SERVICES:
            return original(endpoint, operation_model, request_dict)
        transport = block.value
        if transport.is_beyond_reach(endpoint.host):
            return original(endpoint, operation_model, request_dict)
        is_asynchronous = inspect.iscoroutinefunction(endpoint.create_request)
        send = _AsynchronousSend(transport) if is_asynchronous else transport.answer
        stand_in = copy.copy(endpoint)
        vars(stand_in).update(_send=send, _event_emitter=_without_moto(vars(endpoint)["_event_emitter"]))
        if is_asynchronous:
            return _request_later(original, stand_in, operation_model, request_dict)
        try:
            return original(stand_in, operation_model, request_dict)
        except NoCredentialsError:
            _give_credentials(request_dict, Credentials)
            return original(stand_in, operation_model, request_dict)

    return make_request


async def _request_later(
    original: MakeRequest, endpoint: Any, operation_model: Any, request_dict: dict[str, Any]
) -> Any:
    try:
        return await original(endpoint, operation_model, request_dict)
    except NoCredentialsError:
        _give_credentials(request_dict, importlib.import_module("aiobotocore.credentials").AioCredentials)
        return await original(endpoint, operation_model, request_dict)


def _give_credentials(request_dict: dict[str, Any], kind: type[Any]) -> None:
    """Let a request be signed whose client was made when no credentials were configured."""
    request_dict["context"].setdefault("signing", {})["request_credentials"] = kind("test", "test")


class _AsynchronousSend:
    """`AioEndpoint._send` that asks a database, and leaves the event loop to others meanwhile."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def __call__(self, request: AWSPreparedRequest) -> Any:
        """The reply in the form that aiobotocore expects: its content is awaited."""
        answer = await asyncio.to_thread(self._transport.answer, request)
        assert answer is not None
        form = importlib.import_module("aiobotocore.awsrequest").AioAWSResponse
        return form(answer.url, answer.status_code, answer.headers, _AsynchronousBody(answer.content))


class _AsynchronousBody:
    """A reply's body, with the part of aiohttp's response interface that aiobotocore uses."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def read(self) -> bytes:
        """The whole body."""
        return self._body


def _without_moto(emitter: Any) -> Any:
    """The event system of a client without moto's handler, which would answer too; the same one unless moto is loaded."""
    handlers = moto_handlers()
    if handlers:
        emitter = copy.copy(emitter)
        for handler in handlers * MOTO_REGISTRATIONS_MAX:
            emitter.unregister("before-send", handler)
    return emitter
