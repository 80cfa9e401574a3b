"""What does a test suite import? `server`, which yields a `Database`, and `mock_dynamodb`, which lets one answer unmodified boto3 clients.

They are loaded when first used, so that pytest starts quickly.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hashrange.testing.database import Database, Snapshot, server
    from hashrange.testing.mock import mock_dynamodb

__all__ = ["Database", "Snapshot", "mock_dynamodb", "server"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "mock" if name == "mock_dynamodb" else "database"
    return getattr(import_module(f"hashrange.testing.{module}"), name)
