"""The scope of one account and Region over a store, as the service makes it."""

from typing import Any

from hashrange.clock import Clock
from hashrange.operations.operation import Scope
from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.service.service import Service
from hashrange.settings import Settings

ACCOUNT, REGION = "000000000000", "us-east-1"


def scope_of(
    store: Any, clock: Clock, settings: Settings | None = None, *, account: str = ACCOUNT, region: str = REGION
) -> Scope:
    """The scope in which operations run."""
    return Service(store, ALL_OPERATIONS, clock, settings or Settings(data_dir=None)).scope(account, region)
