"""What does a test suite import? `server`, which yields a `Database`, `mock_dynamodb`, which lets a `Database` answer unmodified boto3 clients, and `Fault`.

They are loaded when first used, so that pytest starts quickly.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hashrange.faults.fault import Fault
    from hashrange.testing.database import Database, Snapshot, server
    from hashrange.testing.mock import mock_dynamodb

__all__ = ["Database", "Fault", "Snapshot", "mock_dynamodb", "server"]

_MODULES = {
    "Database": "hashrange.testing.database",
    "Fault": "hashrange.faults.fault",
    "Snapshot": "hashrange.testing.database",
    "mock_dynamodb": "hashrange.testing.mock",
    "server": "hashrange.testing.database",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
