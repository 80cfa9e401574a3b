"""What identifies a metric? Account, Region, namespace, name, and its exact set of dimensions:
another set is another metric.
"""

from typing import NamedTuple

Dimensions = tuple[tuple[str, str], ...]
"""Name and value of each dimension, sorted by name."""

TEXT_BYTES = 56
"""What a text takes in memory beside its characters."""
DIMENSION_BYTES = 2 * TEXT_BYTES + 64
"""What a dimension takes in memory beside the characters of its name and value."""


class MetricId(NamedTuple):
    """One metric of one account and Region."""

    account: str
    region: str
    namespace: str
    """The metric's namespace, such as `AWS/DynamoDB`."""
    name: str
    dimensions: Dimensions = ()

    @property
    def is_custom(self) -> bool:
        """True if its namespace is a program's own."""
        return not self.namespace.startswith("AWS/")

    @property
    def names_bytes(self) -> int:
        """About what its namespace, name and dimensions take in memory: 3 µs for 30 dimensions."""
        dimensions = sum([DIMENSION_BYTES + len(name) + len(value) for name, value in self.dimensions])
        return 2 * TEXT_BYTES + len(self.namespace) + len(self.name) + dimensions
