"""Do DAX nodes cost less than the reads that they save?

DAX answers eventually consistent reads of what it keeps; all other reads go to the table. Source: DynamoDB Developer
Guide, *DAX and DynamoDB consistency models*.
"""

from typing import NamedTuple

from hashrange.toolkit.capacity_costs import TableUse, costs_of
from hashrange.toolkit.capacity_units import PlaceUnits, UnitRate
from hashrange.toolkit.failures import UsageFault
from hashrange.toolkit.prices import Prices

NODES_USUAL = 3
"""Nodes for production: one in each of three zones."""
NODES_MAX = 11


class DaxCluster(NamedTuple):
    """Nodes, and the share of eventually consistent reads that they answer."""

    hits_share: float
    node_type: str | None = None
    """None: the first one of the price table."""
    nodes: int = NODES_USUAL


class DaxSaving(NamedTuple):
    """What a cluster saves and costs in a month in one mode, in USD."""

    mode: str
    saved: float
    nodes: float
    is_unconfirmed: bool


def dax_savings(cluster: DaxCluster, usage: TableUse, prices: Prices, *, is_eventual: bool) -> list[DaxSaving]:
    """What the cluster saves in each mode. `is_eventual`: the table's reads are; those of indexes are anyway.

    Raises UsageFault.
    """
    node_hours = prices.figures.dax_node_hour
    node_type = next(iter(node_hours), None) if cluster.node_type is None else cluster.node_type
    if node_type not in node_hours:
        raise UsageFault(
            f"the prices of {prices.date} know no DAX node {node_type or ''}".rstrip()
            + f". They know {', '.join(node_hours) or 'none'}; --prices FILE names others."
        )
    nodes = cluster.nodes * node_hours[node_type] * usage.hours
    kept = tuple(_without_hits(place, cluster.hits_share, is_eventual=is_eventual) for place in usage.places)
    is_unconfirmed = prices.is_unconfirmed("dax_node_hour")
    return [
        DaxSaving(before.mode, before.reads - after.reads, nodes, before.is_unconfirmed or is_unconfirmed)
        for before, after in zip(costs_of(usage, prices), costs_of(usage._replace(places=kept), prices), strict=True)
    ]


def _without_hits(place: PlaceUnits, share: float, *, is_eventual: bool) -> PlaceUnits:
    left = 1 - share if is_eventual or place.is_index else 1.0
    return place._replace(reads=UnitRate(place.reads.average * left, place.reads.peak * left))
