"""How much capacity did the requests of a block of code consume?
`UsedCapacity`, in total, by table and by index, for assertions.
"""

from collections import defaultdict

from hashrange.operations.meter import Meter


class Units:
    """Capacity units that were consumed."""

    def __init__(self) -> None:
        self.read = 0.0
        self.write = 0.0

    def add(self, units: float, *, is_write: bool) -> None:
        """Add read or write units."""
        if is_write:
            self.write += units
        else:
            self.read += units

    def __repr__(self) -> str:
        return f"Units(read={self.read:g}, write={self.write:g})"


class UsedCapacity(Units):
    """The capacity units of all requests that ended within the block:
    `read`, `write`, and the same by table and index.
    """

    def __init__(self) -> None:
        super().__init__()
        self.tables: defaultdict[str, Units] = defaultdict(Units)
        """Name of a table → units of the table and its indexes together."""
        self.indexes: defaultdict[tuple[str, str], Units] = defaultdict(Units)
        """Names of a table and its index → units of the index."""

    def count(self, meter: Meter) -> None:
        """Add what one request has consumed."""
        for usage in meter:
            is_write = usage.is_write
            by_index = [(index.name, units) for index, units in usage.index_units]
            units = usage.table_units + sum(index_units for _, index_units in by_index)
            self.add(units, is_write=is_write)
            self.tables[usage.table.name].add(units, is_write=is_write)
            for index, index_units in by_index:
                self.indexes[usage.table.name, index].add(index_units, is_write=is_write)
