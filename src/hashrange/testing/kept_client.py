"""May one test use the client of the test before? Yes, if that test has changed nothing of it: a new client costs each test some 6 ms."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from hashrange.testing.database import Database

CHANGES = ("register", "register_first", "register_last", "unregister")
"""Methods of a client's event system with which tests change the client: botocore's Stubber, and handlers of their own."""


class KeptClient:
    """A boto3 client of one database for test after test, replaced when a test has changed it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._client: Any = None
        self._attributes: dict[str, Any] = {}
        self._is_changed = True

    def take(self) -> Any:
        """The client, with no event handlers and attributes but those that every client has."""
        if self._is_changed or _public_attributes(self._client) != self._attributes:
            self._client = client = self._database.client()
            self._attributes = _public_attributes(client)
            self._is_changed = False
            for name in CHANGES:
                setattr(client.meta.events, name, self._noting(getattr(client.meta.events, name)))
        return self._client

    def _noting(self, change: Callable[..., None]) -> Callable[..., None]:
        @wraps(change)
        def note(*arguments: Any, **named: Any) -> None:
            self._is_changed = True
            change(*arguments, **named)

        return note


def _public_attributes(client: Any) -> dict[str, Any]:
    """The attributes of the client itself that take the place of methods; botocore keeps things in private ones."""
    return {name: value for name, value in vars(client).items() if not name.startswith("_")}
