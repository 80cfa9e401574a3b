"""Which structures describe replicas in other Regions? They are validated, but requests that contain them
are refused as not supported yet.

Source: service model of November 2026.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from hashrange.operations.shapes import IndexName as Name
from hashrange.operations.shapes import Long, PositiveLong
from hashrange.operations.tables import members

MultiRegionConsistency = Literal["EVENTUAL", "STRONG"]


class ProvisionedThroughputOverride(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Read capacity of one replica, or of a global index in it."""

    ReadCapacityUnits: PositiveLong | None = None


class OnDemandThroughputOverride(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Maximum read request units of one replica, or of a global index in it."""

    MaxReadRequestUnits: Long | None = None


_ProvisionedOverride = ProvisionedThroughputOverride
_OnDemandOverride = OnDemandThroughputOverride


class ReplicaGlobalSecondaryIndex(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Read capacity of a global index in one replica."""

    IndexName: Name
    ProvisionedThroughputOverride: _ProvisionedOverride | None = None
    OnDemandThroughputOverride: _OnDemandOverride | None = None


_ReplicaIndexes = Annotated[list[ReplicaGlobalSecondaryIndex], Meta(min_length=1)]


class CreateReplicationGroupMemberAction(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A replica to add."""

    RegionName: str
    KMSMasterKeyId: str | None = None
    ProvisionedThroughputOverride: _ProvisionedOverride | None = None
    OnDemandThroughputOverride: _OnDemandOverride | None = None
    GlobalSecondaryIndexes: _ReplicaIndexes | None = None
    TableClassOverride: members.TableClass | None = None


class UpdateReplicationGroupMemberAction(CreateReplicationGroupMemberAction, frozen=True, kw_only=True, gc=False):
    """A replica to change."""


class DeleteReplicationGroupMemberAction(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A replica to remove."""

    RegionName: str


class DisassociateReplicationGroupMemberAction(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A replica that becomes a table of its own."""

    RegionName: str
    DisassociationMode: Literal["WAIT_FOR_REPLICATION"]


class ReplicationGroupUpdate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One change of the replicas."""

    Create: CreateReplicationGroupMemberAction | None = None
    Update: UpdateReplicationGroupMemberAction | None = None
    Delete: DeleteReplicationGroupMemberAction | None = None
    Disassociate: DisassociateReplicationGroupMemberAction | None = None


class CreateGlobalTableWitnessGroupMemberAction(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A Region to add as a witness."""

    RegionName: str


class DeleteGlobalTableWitnessGroupMemberAction(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A Region to remove as a witness."""

    RegionName: str


class GlobalTableWitnessGroupUpdate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One change of the witnesses."""

    Create: CreateGlobalTableWitnessGroupMemberAction | None = None
    Delete: DeleteGlobalTableWitnessGroupMemberAction | None = None
