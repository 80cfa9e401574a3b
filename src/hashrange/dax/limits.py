"""Which limits do clusters have? Those of DAX; bounds of our own say so. Source: DAX's API reference."""

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
