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
NODE_MEMORY_BYTES = {
    "dax.t2.small": 2 * GIB,
    "dax.t2.medium": 4 * GIB,
    "dax.t3.small": 2 * GIB,
    "dax.t3.medium": 4 * GIB,
    "dax.r3.large": int(15.25 * GIB),
    "dax.r3.xlarge": int(30.5 * GIB),
    "dax.r3.2xlarge": 61 * GIB,
    "dax.r3.4xlarge": 122 * GIB,
    "dax.r3.8xlarge": 244 * GIB,
    "dax.r4.large": int(15.25 * GIB),
    "dax.r4.xlarge": int(30.5 * GIB),
    "dax.r4.2xlarge": 61 * GIB,
    "dax.r4.4xlarge": 122 * GIB,
    "dax.r4.8xlarge": 244 * GIB,
    "dax.r4.16xlarge": 488 * GIB,
    "dax.r5.large": 16 * GIB,
    "dax.r5.xlarge": 32 * GIB,
    "dax.r5.2xlarge": 64 * GIB,
    "dax.r5.4xlarge": 128 * GIB,
    "dax.r5.8xlarge": 256 * GIB,
    "dax.r5.12xlarge": 384 * GIB,
    "dax.r5.16xlarge": 512 * GIB,
    "dax.r5.24xlarge": 768 * GIB,
    "dax.r7i.large": 16 * GIB,
    "dax.r7i.xlarge": 32 * GIB,
    "dax.r7i.2xlarge": 64 * GIB,
    "dax.r7i.4xlarge": 128 * GIB,
    "dax.r7i.8xlarge": 256 * GIB,
    "dax.r7i.12xlarge": 384 * GIB,
    "dax.r7i.16xlarge": 512 * GIB,
    "dax.r7i.24xlarge": 768 * GIB,
}
"""Node type → memory in bytes. An entry takes memory of this process only once it is there."""
SMALLEST_TYPE = "dax.t3.small"
