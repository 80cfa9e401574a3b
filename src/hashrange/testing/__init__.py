"""What does a test suite import? `server`, which yields a `Database`; both are loaded when first used, so that pytest starts quickly."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hashrange.testing.database import Database, Snapshot, server

__all__ = ["Database", "Snapshot", "server"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from hashrange.testing import database  # noqa: PLC0415 - imports the whole server

    return getattr(database, name)
