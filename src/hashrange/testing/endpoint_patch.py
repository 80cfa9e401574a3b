"""How do clients reach a database that they know nothing of? botocore's endpoints ask it instead of the network.

Every client calls `Endpoint.make_request` for each request; aiobotocore's endpoints inherit that method.
While a database is to answer, the method is replaced: requests are made by a copy of the endpoint whose `_send`
asks the database, or refuses those of services that are not served.
Requests to other services that may leave (`other_services.py`) are made as ever. Parameter checks, events, signatures,
retries and the parsing of replies are still botocore's.

A `before-send` handler that answers a request is heard first: so do the clients of a `Database` reach their own
database. Only moto's handler is not called for DynamoDB and DynamoDB Streams.
Blocks on several threads and tasks may overlap: `blocks.py` says which one answers.
"""

import asyncio
import copy
import importlib
import inspect
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import RLock
from typing import Any, NamedTuple

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.credentials import Credentials
from botocore.endpoint import Endpoint
from botocore.exceptions import NoCredentialsError

from hashrange.testing.blocks import Block, Held, OpenBlocks
from hashrange.testing.botocore_transport import OWN_SERVICES, SERVICES, Transport, moto_handlers
from hashrange.testing.database import Database, server
from hashrange.testing.other_services import may_leave, refusing

MakeRequest = Callable[[Any, Any, dict[str, Any]], Any]
_Answer = Callable[[AWSPreparedRequest], AWSResponse | None]

MOTO_REGISTRATIONS_MAX = 2
"""Most times that moto registers its handler with a client: with all clients once,
and again if it is told to patch a client."""


class SharedDatabase:
    """The database of a block and of the blocks within it: one that was given, or one that is begun for the first block
    and ends with the last of them.
    """

    def __init__(self, given: Database | None) -> None:
        self._given = given
        self._lock = RLock()
        self._users: set[object] = set()
        """The blocks that are open."""
        self._begun: Held[Database] | None = None
        self._database = given

    def is_usable(self) -> bool:
        """False if the running code cannot ask the database: it is closed, belongs to another process,
        or runs this very code.
        """
        try:
            if self._database is not None:
                self._database.require_open()
        except RuntimeError:
            return False
        return True

    def enter(self, user: object) -> Database:
        """Note that a block needs the database; returns the database, which is begun unless it was given or is running.

        Raises what the beginning of `server()` raises, and RuntimeError if the given database is closed.
        """
        with self._lock:
            self._users.add(user)
            if self._given is not None:
                self._given.require_open()
            elif self._begun is None:
                # SLF001: of the same package; a `with` block could not end elsewhere
                self._begun = server._hold()  # noqa: SLF001
                self._database = next(self._begun)
            assert self._database is not None
            return self._database

    def leave(self, user: object) -> None:
        """Note that a block has ended, or could not begin; ends the database after the last one unless it was given."""
        with self._lock:
            self._users.discard(user)
            begun = self._begun
            if not self._users and begun is not None:
                self._begun = self._database = None
                begun.close()


class BlockAnswers(NamedTuple):
    """What one block answers."""

    shared: SharedDatabase
    """The database of the block, perhaps also of others."""
    transport: Transport
    """How that database is asked."""
    passthrough: frozenset[str]
    """Other services whose requests may reach AWS, as boto3 names them."""


_lock = threading.RLock()
_blocks: OpenBlocks[BlockAnswers] = OpenBlocks()
"""The blocks whose databases are to answer."""
_former: MakeRequest | None = None
"""`Endpoint.make_request` as it was before ours replaced it; None if ours never did."""
_replacement: MakeRequest | None = None


@contextmanager
def answered_by(answers: BlockAnswers) -> Iterator[None]:
    """While the block runs, its database answers the requests of all clients in all threads.

    If blocks overlap, each answers the requests of the thread or asyncio task that began it; an inner block comes
    first. They may end in any order. If other code has put its method over ours, both stay, and ours does nothing.
    """
    global _former, _replacement
    block = Block(answers)
    try:
        with _lock:
            if not _blocks:
                _former = Endpoint.make_request
                Endpoint.make_request = _replacement = _asking(Endpoint.make_request)
            _blocks.add(block)
        yield
    finally:
        with _lock:
            _blocks.remove(block)
            if not _blocks and Endpoint.make_request is _replacement:
                Endpoint.make_request = _former


def surrounding_answer() -> BlockAnswers | None:
    """What the innermost block around the running code answers; None outside of all blocks,
    also while other threads are in some.
    """
    block = _blocks.surrounding()
    return None if block is None else block.value


def _asking(original: MakeRequest) -> MakeRequest:
    """`Endpoint.make_request` that asks the database of the block around it,
    if there is one and the request is for it.
    """

    @wraps(original)
    def make_request(endpoint: Any, operation_model: Any, request_dict: dict[str, Any]) -> Any:
        block = _blocks.innermost()
        if block is None:
            return original(endpoint, operation_model, request_dict)
        answer, emitter = _answer_to(block.value, endpoint, operation_model, request_dict)
        if answer is None:
            return original(endpoint, operation_model, request_dict)
        is_asynchronous = inspect.iscoroutinefunction(endpoint.create_request)
        stand_in = copy.copy(endpoint)
        vars(stand_in).update(_send=_asynchronous_send(answer) if is_asynchronous else answer, _event_emitter=emitter)
        if is_asynchronous:
            return _request_later(original, stand_in, operation_model, request_dict)
        try:
            return original(stand_in, operation_model, request_dict)
        except NoCredentialsError:
            _give_credentials(request_dict, Credentials)
            return original(stand_in, operation_model, request_dict)

    return make_request


def _answer_to(
    answers: BlockAnswers, endpoint: Any, operation_model: Any, request_dict: dict[str, Any]
) -> tuple[_Answer | None, Any]:
    """What answers a request in place of the network, None if the request may leave;
    and the event system that is told of it.
    """
    service, transport, emitter = operation_model.service_model, answers.transport, vars(endpoint)["_event_emitter"]
    service_id = service.service_id.hyphenize()
    if service_id in SERVICES:
        is_beyond_reach = transport.is_beyond_reach(endpoint.host)
        return (None if is_beyond_reach else transport.answer), _without_moto(emitter)
    if may_leave(service.service_name, request_dict["url"], answers.passthrough):
        return None, emitter
    is_served = service_id in OWN_SERVICES and (service_id != "lambda" or transport.has_functions)
    return (transport.answer if is_served else refusing(operation_model)), emitter


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


def _asynchronous_send(answer: _Answer) -> Callable[[AWSPreparedRequest], Coroutine[Any, Any, Any]]:
    """`AioEndpoint._send` that asks a database, and leaves the event loop to others meanwhile.
    It returns the reply in the form that aiobotocore expects: its content is awaited.
    """

    async def send(request: AWSPreparedRequest) -> Any:
        reply = await asyncio.to_thread(answer, request)
        assert reply is not None
        form = importlib.import_module("aiobotocore.awsrequest").AioAWSResponse
        return form(reply.url, reply.status_code, reply.headers, _AsynchronousBody(reply.content))

    return send


class _AsynchronousBody:
    """A reply's body, with the part of aiohttp's response interface that aiobotocore uses."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def read(self) -> bytes:
        """The whole body."""
        return self._body


def _without_moto(emitter: Any) -> Any:
    """The event system of a client without moto's handler, which would answer too;
    the same one unless moto is loaded.
    """
    handlers = moto_handlers()
    if handlers:
        emitter = copy.copy(emitter)
        for handler in handlers * MOTO_REGISTRATIONS_MAX:
            emitter.unregister("before-send", handler)
    return emitter
