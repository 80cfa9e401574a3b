"""May one test use the client of the test before? Yes, if that test has changed nothing of it:
a new client costs each test some 6 ms.
"""

import copy
from collections.abc import Callable
from functools import wraps
from typing import Any

from hashrange.testing.database import Database

CHANGES = ("register", "register_first", "register_last", "unregister")
"""Methods of a client's event system with which tests change the client:
botocore's Stubber, and handlers of their own."""
SET_BY_BOTOCORE = {"_exceptions"}
"""Members of a client that botocore sets when they are first needed."""


class KeptClient:
    """A boto3 client of one database for test after test, replaced when a test has changed it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._client: Any = None
        self._parts: _Parts = {}
        self._config: dict[str, Any] = {}
        self._is_changed = True

    def take(self) -> Any:
        """The client, with no event handlers, attributes and options but those that every client has."""
        if self._is_changed or self._has_other_members():
            self._client = client = self._database.client()
            self._parts = _parts_of(client)
            self._config = copy.deepcopy(vars(client.meta.config))
            self._is_changed = False
            for name in CHANGES:
                setattr(client.meta.events, name, self._noting(getattr(client.meta.events, name)))
        return self._client

    def _has_other_members(self) -> bool:
        parts = _parts_of(self._client)
        return (
            parts.keys() != self._parts.keys()
            or any(value is not self._parts[name] for name, value in parts.items())
            or vars(self._client.meta.config) != self._config
        )

    def _noting(self, change: Callable[..., None]) -> Callable[..., None]:
        @wraps(change)
        def note(*arguments: Any, **named: Any) -> None:
            self._is_changed = True
            change(*arguments, **named)

        return note


_Parts = dict[tuple[str, str], Any]
"""Name of an object in a client, such as `meta`, and name of one of its members → the member's value."""


def _parts_of(client: Any) -> _Parts:
    """The members of a client and of its parts that tests replace by others."""
    parts = {"": client, "meta": client.meta, "_endpoint": client._endpoint}  # noqa: SLF001 - tests replace its members
    return {
        (path, name): value
        for path, part in parts.items()
        for name, value in vars(part).items()
        if name not in SET_BY_BOTOCORE
    }
