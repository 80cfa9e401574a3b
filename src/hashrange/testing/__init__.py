"""What does a test suite import? `server`, which yields a `Database`, `mock_dynamodb`, which lets a `Database` answer
unmodified boto3 clients, and `Fault`.

They are loaded when first used, so that pytest starts quickly.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hashrange.faults.fault import Fault
    from hashrange.testing.database import Database, Snapshot, server
    from hashrange.testing.mock import mock_dynamodb
    from hashrange.testing.other_services import ServiceNotMocked

__all__ = ["Database", "Fault", "ServiceNotMocked", "Snapshot", "mock_dynamodb", "server"]

_MODULES = {
    "Database": "hashrange.testing.database",
    "Fault": "hashrange.faults.fault",
    "ServiceNotMocked": "hashrange.testing.other_services",
    "Snapshot": "hashrange.testing.database",
    "mock_dynamodb": "hashrange.testing.mock",
    "server": "hashrange.testing.database",
}


def __getattr__(name: str) -> Any:
    """Raises ImportError for moto's names, because `from hashrange.testing import …` shows no AttributeError."""
    if name not in _MODULES:
        from hashrange.testing.moto_names import told_of_import  # noqa: PLC0415 - only for names that are not there

        told = told_of_import(name)
        if told is not None:
            raise ImportError(told, name=__name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Imported here: pytest loads this file in every run.
    from hashrange.testing.loading import boto3_needed, uncollected  # noqa: PLC0415

    with boto3_needed(name), uncollected():
        return getattr(import_module(_MODULES[name]), name)
