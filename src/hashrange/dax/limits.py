"""Which limits do clusters have, and how much memory have their nodes? Those of DAX; bounds of our own say so.
Source: DAX's API reference, and its price list for types of nodes, whose caches have about as much memory.
"""

CLUSTER_NODES_MAX = 11
"""Nodes of a cluster: a primary and ten replicas by the guide."""
ACCOUNT_NODES_MAX = 50
"""Nodes of all clusters of an account and Region."""
PARAMETER_GROUPS_MAX = 20
SUBNET_GROUPS_MAX = 50
GROUP_SUBNETS_MAX = 20
CLUSTER_TAGS_MAX = 50
TAG_KEY_LENGTH_MAX, TAG_VALUE_LENGTH_MAX = 128, 256
CLUSTER_NAME_LENGTH_MAX = 20
GROUP_NAME_LENGTH_MAX = 255
DESCRIPTION_LENGTH_MAX = 255
SECURITY_GROUPS_MAX = 16
"""Security groups of a cluster: as many as an interface of the network may have. Source: VPC's quotas."""
DESCRIBED_MIN, DESCRIBED_MAX = 20, 100
"""Records in a page of the operations that describe. Source: DAX's API reference, MaxResults."""
EVENT_SECONDS = 14 * 86_400
"""Service time for which events are kept."""
EVENTS_MAX = 1_000
"""Events of an account and Region that are kept: our own bound."""
EVENT_DAY_SECONDS = 86_400
"""Without times, DescribeEvents returns those of the last day. Source: DAX's API reference, DescribeEvents."""
EVENT_MINUTES_MAX = 14 * 24 * 60
TTL_MILLIS_MAX = 2**31 - 1
"""Our own bound of the two parameters."""
MAINTENANCE_MINUTES_MIN = 60

# --- types of nodes --------------------------------------------------------------------------------

GIB = 1024**3
_MULTIPLES = {"large": 1, "xlarge": 2} | {f"{count}xlarge": 2 * count for count in (2, 4, 8, 12, 16, 24)}
"""Size → how many times the memory of its family's size `large`."""
_FAMILIES = (
    ("r3", 15.25, "large xlarge 2xlarge 4xlarge 8xlarge"),
    ("r4", 15.25, "large xlarge 2xlarge 4xlarge 8xlarge 16xlarge"),
    ("r5", 16, "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge"),
    ("r7i", 16, "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge"),
)
"""Family, memory of its size `large` in GiB, and its sizes."""
NODE_MEMORY_BYTES = {
    "dax.t2.small": 2 * GIB,
    "dax.t2.medium": 4 * GIB,
    "dax.t3.small": 2 * GIB,
    "dax.t3.medium": 4 * GIB,
    **{
        f"dax.{family}.{size}": int(large_gib * GIB) * _MULTIPLES[size]
        for family, large_gib, sizes in _FAMILIES
        for size in sizes.split()
    },
}
"""Node type → memory in bytes. An entry takes memory of this process only once it is there."""
SMALLEST_TYPE = "dax.t3.small"
