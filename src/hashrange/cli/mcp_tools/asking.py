"""How do tools ask a server? One request at a time, whichever thread the protocol's library runs a tool on;
refusals are raised as they are.
"""

import contextlib
from threading import Lock
from typing import Any

from hashrange.cli.remote import RefusedRequest, Remote, RemoteError, names_of_tables
from hashrange.written.names import did_you_mean


class AskedServer:
    """A server that several threads may ask."""

    def __init__(self, server: Remote) -> None:
        self._server = server
        self._lock = Lock()

    @property
    def place(self) -> str:
        """Endpoint and Region, for messages."""
        return f"{self._server.endpoint}, {self._server.region}"

    def service_seconds(self) -> float:
        """Service time: by the admin API, which can move it, or else the time of the last reply."""
        with self._lock, contextlib.suppress(RemoteError):
            return float(self._server.operate("GET", "info")["service_time"])
        return self._server.replied_at_seconds

    def ask(self, operation: str, service: str = "dynamodb", /, **members: Any) -> Any:
        """Send a request without the members that are None; returns the reply.
        Raises RefusedRequest and RemoteError.
        """
        given = {name: value for name, value in members.items() if value is not None}
        with self._lock:
            try:
                return self._server.ask(operation, service, **given)
            except RefusedRequest as refusal:
                table_name = given.get("TableName")
                if refusal.code != "ResourceNotFoundException" or not isinstance(table_name, str):
                    raise
                names = names_of_tables(self._server.ask)
                if table_name in names:  # what is not found is something else, such as an index
                    raise
                raise RefusedRequest(
                    refusal.code,
                    refusal.message,
                    f"{refusal}.{did_you_mean(table_name, names)} The tool list_tables lists all tables.",
                ) from None
