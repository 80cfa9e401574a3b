"""How do boto3 and botocore reach a database in the same process, with sessions that are made in milliseconds?
A `before-send` handler answers their requests.

botocore calls `before-send` handlers after parameter checks, serialization, endpoint and signature, and before it opens
a connection; its retries and its parsing of replies are unchanged.
Source: botocore's events, `before-send.SERVICE.OPERATION`.
"""

import copy
import sys
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import botocore.session
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import ConnectionClosedError
from botocore.handlers import BUILTIN_HANDLERS
from botocore.hooks import HierarchicalEmitter
from botocore.loaders import Loader, create_loader

from hashrange.functions.feature import FUNCTIONS
from hashrange.testing.in_process import InProcess

SERVICES = ("dynamodb", "dynamodb-streams")
"""Ids, as in botocore's event names, of the services whose requests are answered."""
OWN_SERVICES = (*SERVICES, "lambda", "cloudwatch", "application-auto-scaling", "dax", "sts")
"""Ids of the services whose requests are answered for a database's own clients. Clients that know nothing of Hashrange
may have the services beside DynamoDB elsewhere (`other_services.py`)."""


class Transport:
    """Answers the requests of the clients and sessions to which it is attached."""

    def __init__(self, database: InProcess) -> None:
        self._database = database

    def attach(self, target: Any, services: tuple[str, ...] = SERVICES) -> None:
        """From now on, answer the requests of this client, or of the clients that this session then creates.

        Only requests to these services are answered.
        """
        events = _events_of(target)
        for service in services:
            events.register(f"before-send.{service}", self.answer, unique_id=f"hashrange-{id(self)}-{service}")
        for handler in moto_handlers():
            events.unregister("before-send", handler)
            events.register(
                "before-send", _for_other_services(handler, services), unique_id=f"hashrange-{id(self)}-{id(handler)}"
            )

    def is_beyond_reach(self, url: str) -> bool:
        """True if the database runs in the process that this one was forked from, and listens at this URL."""
        database = self._database
        return database.is_forked and database.known_endpoint is not None and url.startswith(database.known_endpoint)

    @property
    def has_functions(self) -> bool:
        """True if the database serves Lambda's API."""
        return self._database.service.features.loaded(FUNCTIONS) is not None

    def answer(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse | None:
        """The database's reply to a request that is ready to be sent; None: it has to be sent."""
        if self.is_beyond_reach(request.url):
            return None
        parts = urlsplit(request.url)
        url = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = _plain_headers(request.headers)
        headers.setdefault("host", parts.netloc)
        try:
            answer = self._database.ask(request.method, url, headers, _as_bytes(request.body))
        except ConnectionError as error:
            raise ConnectionClosedError(error=error, request=request, endpoint_url=request.url) from error
        return AWSResponse(request.url, answer.status, answer.headers, _Body(answer.body))


def _for_other_services(handler: Any, services: tuple[str, ...]) -> Callable[..., Any]:
    """A `before-send` handler that calls another one, but only for requests that no database answers."""

    def handle(event_name: str, **members: Any) -> Any:
        is_ours = event_name.split(".")[1] in services
        return None if is_ours else handler(event_name=event_name, **members)

    return handle


class _Body(BytesIO):
    """A reply's body: a file, with the part of urllib3's response interface that botocore uses."""

    def read(self, size: int | None = None, **_: Any) -> bytes:
        """The next bytes of the body; all that are left if `size` is None."""
        return super().read(size)

    def close(self) -> None:
        """Do nothing: there is no connection."""

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        """Yield the whole body; a second call yields nothing more of it."""
        yield self.read()


def _as_bytes(body: Any) -> bytes:
    """The body of a request, which may be a text, bytes, or a file such as a function's payload."""
    if hasattr(body, "read"):
        body = body.read()
    return body.encode() if isinstance(body, str) else bytes(body or b"")


def moto_handlers() -> list[Any]:
    """The handlers of moto, which would answer requests to DynamoDB too; none unless moto is loaded."""
    if "moto" not in sys.modules:
        return []
    return [
        handler
        for event, handler, *_ in BUILTIN_HANDLERS
        if event == "before-send" and type(handler).__module__.startswith("moto.")
    ]


def _events_of(target: Any) -> Any:
    """The event system in which a client, a boto3 session or a botocore session calls handlers."""
    if hasattr(target, "get_component"):
        return target.get_component("event_emitter")
    return target.meta.events if hasattr(target, "meta") else target.events


def _plain_headers(headers: Any) -> dict[str, str | bytes]:
    """The headers of botocore as a plain dict, with names in lower case."""
    try:
        return {name._lower: value for name, value in headers._dict.items()}  # noqa: SLF001 - in 1 µs instead of 7
    except AttributeError:
        return {name.lower(): value for name, value in headers.items()}


# --- sessions -------------------------------------------------------------------------------------

NO_PROFILE: dict[str, tuple[None, None, None, None]] = {"profile": (None, None, None, None)}
"""Session variables with which a session looks for no profile: the one that the environment names may not exist."""


def new_session(variables: dict[str, tuple[None, None, None, None]] | None = None) -> Any:
    """A new boto3 session, made in milliseconds: there is one loader of service models for all, because reading the
    models takes a session of its own 80 ms, and one emitter to copy, because registering botocore's handlers takes
    another 6 ms. `variables`: botocore's session variables to override.
    """
    import boto3  # noqa: PLC0415 - an optional dependency, and slow to import

    emitter = copy.copy(_emitter_with(tuple(BUILTIN_HANDLERS)))
    session = botocore.session.Session(variables, emitter, include_builtin_handlers=False)
    session.register_component("data_loader", _loader_of(session.get_config_variable("data_path")))
    return boto3.Session(botocore_session=session)


@lru_cache(maxsize=1)
def _emitter_with(handlers: tuple[Any, ...]) -> HierarchicalEmitter:
    """The emitter of a session with botocore's handlers. `handlers`: these, to which moto adds its own."""
    emitter = HierarchicalEmitter()
    botocore.session.Session(event_hooks=emitter)
    return emitter


@cache
def _loader_of(data_path: str | None) -> Loader:
    """The loader of the models in botocore's own folders and `data_path`; it keeps what it has read."""
    return create_loader(data_path)
