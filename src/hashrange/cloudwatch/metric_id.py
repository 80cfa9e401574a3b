"""What identifies a metric? Account, Region, namespace, name, and its exact set of dimensions: another set is another metric."""

from typing import NamedTuple

Dimensions = tuple[tuple[str, str], ...]
"""Name and value of each dimension, sorted by name."""


class MetricId(NamedTuple):
    """One metric of one account and Region."""

    account: str
    region: str
    namespace: str
    """Such as `AWS/DynamoDB`."""
    name: str
    dimensions: Dimensions = ()
