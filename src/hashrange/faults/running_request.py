"""What must a store that meets faults know of the request that runs now?
Its operation, what else it will write, and how its reply meets a fault.
"""

from collections.abc import Iterator
from typing import Protocol

from hashrange.faults.fault import Fault
from hashrange.items.types import Key
from hashrange.tables.open_table import OpenTable


class RunningRequest(Protocol):
    """Stands for the request whose operation runs at the moment of the call; its methods tell of that request."""

    def operation(self) -> str | None:
        """Name of the operation; None outside of requests."""
        ...

    def identity(self) -> object:
        """An object that no other request has."""
        ...

    def writes(self) -> Iterator[tuple[OpenTable, Key]]:
        """Tables and keys of all items that the request writes one after the other, in this order.

        Yields nothing for a request that writes at most one item, or all of its items at once.
        """
        ...

    def mark(self, fault: Fault) -> None:
        """Let the request's reply meet a fault of a kind that whole requests meet."""
        ...
