"""What is known of clusters and groups? Records, which are kept as documents of the store.

    dax-cluster/{account}/{region}/{name}            → Cluster
    dax-parameter-group/{account}/{region}/{name}    → ParameterGroup
    dax-subnet-group/{account}/{region}/{name}       → SubnetGroup
    dax-events/{account}/{region}                    → Events, oldest first

The cluster of `--dax-port` belongs to every account and Region: both are `*`.
"""

from typing import ClassVar, Literal, NamedTuple

import msgspec

EVERYONE = "*"
"""Account and Region of a cluster that all clients may use."""
SHARED_NAME = "default"
"""Name of that cluster."""
SHARED_ACCOUNT, SHARED_REGION = "000000000000", "us-east-1"
"""Where its nodes count, and are."""
DEFAULT_PARAMETER_GROUP, DEFAULT_SUBNET_GROUP = "default.dax1.0", "default"
DEFAULT_TTL_MILLIS = 300_000
PARAMETERS = ("query-ttl-millis", "record-ttl-millis")

ClusterStatus = Literal["creating", "available", "modifying", "deleting"]
NodeStatus = Literal["creating", "available", "deleting", "rebooting"]
EventSubject = Literal["CLUSTER", "PARAMETER_GROUP", "SUBNET_GROUP"]


class ClusterNode(msgspec.Struct, frozen=True, kw_only=True):
    """One node of a cluster."""

    node_id: str
    zone: str
    created_seconds: float
    status: NodeStatus
    port: int = 0
    """Where it listens; 0 until it does."""
    record_ttl_millis: int = DEFAULT_TTL_MILLIS
    query_ttl_millis: int = DEFAULT_TTL_MILLIS
    """Parameters with which it was started."""


class DaxRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What clusters and groups have in common."""

    subject: ClassVar[EventSubject]
    """What its events are about."""
    account: str
    region: str
    name: str
    """That of a cluster is in lower case."""


class Cluster(DaxRecord, frozen=True, kw_only=True):
    """One cluster."""

    subject: ClassVar[EventSubject] = "CLUSTER"
    node_type: str
    status: ClusterStatus
    until_seconds: float
    """Service time at which whatever is under way is done."""
    nodes: list[ClusterNode]
    created_seconds: float
    discovery_port: int = 0
    """Where clients find it, whichever nodes go; 0 until a node listens."""
    description: str | None = None
    parameter_group: str = DEFAULT_PARAMETER_GROUP
    group_owner: tuple[str, str] | None = None
    """Account and Region of the parameter group; None: those of the cluster."""
    subnet_group: str = DEFAULT_SUBNET_GROUP
    security_groups: list[str] = []
    role_arn: str = ""
    maintenance_window: str = ""
    topic_arn: str | None = None
    topic_status: str = "active"
    is_encrypted_at_rest: bool = False
    encryption: Literal["NONE", "TLS"] = "NONE"
    network_type: Literal["ipv4", "ipv6", "dual_stack"] = "ipv4"
    tags: dict[str, str] = {}


class SharedCluster(NamedTuple):
    """What the settings say of the cluster that everyone may use."""

    port: int
    """Of its first node; 0: any."""
    encryption: Literal["NONE", "TLS"]
    may_change: bool = True
    """False: no caller may change or delete it, because it is not the caller's alone."""


class ParameterGroup(DaxRecord, frozen=True, kw_only=True):
    """Parameters of nodes."""

    subject: ClassVar[EventSubject] = "PARAMETER_GROUP"
    description: str | None = None
    record_ttl_millis: int = DEFAULT_TTL_MILLIS
    query_ttl_millis: int = DEFAULT_TTL_MILLIS
    changed: list[str] = []
    """Names of the parameters that a user has set."""


class SubnetGroup(DaxRecord, frozen=True, kw_only=True):
    """Subnets in which nodes may be. They have no effect here."""

    subject: ClassVar[EventSubject] = "SUBNET_GROUP"
    subnets: list[str]
    description: str | None = None


class Event(msgspec.Struct, frozen=True):
    """Something that has happened to a cluster or group."""

    at_seconds: float
    source_type: EventSubject
    source: str
    message: str
