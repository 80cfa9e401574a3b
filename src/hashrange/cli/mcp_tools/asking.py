"""How do tools ask a server? On a few connections, so that one tool's long request holds up no others;
refusals are raised as they are.
"""

import contextlib
from collections.abc import Iterator
from copy import copy
from queue import LifoQueue
from typing import Any

from hashrange.cli.remote import RefusedRequest, Remote, RemoteError, names_of_tables
from hashrange.written.names import did_you_mean

CONNECTIONS_MAX = 8
"""Requests that may run at the same time; further ones wait. A connection is opened when no other one is free."""


class AskedServer:
    """A server that several threads may ask."""

    def __init__(self, server: Remote) -> None:
        """`server` has sent no request yet."""
        self._all = [server, *[copy(server) for _ in range(CONNECTIONS_MAX - 1)]]
        self._free: LifoQueue[Remote] = LifoQueue()
        for one in reversed(self._all):
            self._free.put(one)

    @property
    def place(self) -> str:
        """Endpoint and Region, for messages."""
        return f"{self._all[0].endpoint}, {self._all[0].region}"

    @contextlib.contextmanager
    def _connection(self) -> Iterator[Remote]:
        """A connection that no other thread uses meanwhile: of those that are free, the one that was used last."""
        server = self._free.get()
        try:
            yield server
        finally:
            self._free.put(server)

    def end(self) -> None:
        """Let the requests that other threads wait for fail now, and all further ones."""
        for one in self._all:
            one.end()

    def close(self) -> None:
        """Close the connections, which no thread uses any more."""
        for one in self._all:
            one.close()

    def service_seconds(self) -> float:
        """Service time: by the admin API, which can move it, or else the time of the reply."""
        with self._connection() as server:
            with contextlib.suppress(RemoteError):
                return float(server.operate("GET", "info")["service_time"])
            return server.replied_at_seconds

    def ask(self, operation: str, service: str = "dynamodb", /, **members: Any) -> Any:
        """Send a request without the members that are None; returns the reply.
        Raises RefusedRequest and RemoteError.
        """
        given = {name: value for name, value in members.items() if value is not None}
        with self._connection() as server:
            try:
                return server.ask(operation, service, **given)
            except RefusedRequest as refusal:
                table_name = given.get("TableName")
                if refusal.code != "ResourceNotFoundException" or not isinstance(table_name, str):
                    raise
                names = names_of_tables(server.ask)
                if table_name in names:  # what is not found is something else, such as an index
                    raise
                raise RefusedRequest(
                    refusal.code,
                    refusal.message,
                    f"{refusal}.{did_you_mean(table_name, names)} The tool list_tables lists all tables.",
                ) from None
