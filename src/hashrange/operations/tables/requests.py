"""Which members do CreateTable and UpdateTable requests have? All of the service model, even unimplemented ones.

The other control-plane operations declare their few members in their own files, or take them from `TableRequest`.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.messages.tables import TABLE_CLASS_INVALID
from hashrange.operations.shapes import TableName as NameOrArn
from hashrange.operations.shapes import WholeTableName
from hashrange.operations.tables import index_members, members, replica_members
from hashrange.wire.rules import ConstraintWording, ConstraintWordings

TABLE_CLASS: ConstraintWordings = {
    ("tableClass", "enumeration"): ConstraintWording(TABLE_CLASS_INVALID, is_bare=True),
}
"""An unknown class has a message of its own."""


class CreateTableRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The request; members in the order in which their faults are reported."""

    AttributeDefinitions: list[members.AttributeDefinition]
    TableName: WholeTableName
    BillingMode: members.BillingMode | None = None
    ProvisionedThroughput: members.ProvisionedThroughput | None = None
    KeySchema: members.TableKeySchema
    GlobalSecondaryIndexes: list[index_members.GlobalSecondaryIndex] | None = None
    LocalSecondaryIndexes: list[index_members.LocalSecondaryIndex] | None = None
    StreamSpecification: members.StreamSpecification | None = None
    SSESpecification: members.SSESpecification | None = None
    Tags: list[members.Tag] | None = None
    TableClass: members.TableClass | None = None
    DeletionProtectionEnabled: bool | None = None
    WarmThroughput: members.WarmThroughput | None = None
    ResourcePolicy: str | None = None
    OnDemandThroughput: members.OnDemandThroughput | None = None
    GlobalTableSourceArn: Annotated[str, Meta(min_length=1, max_length=1024)] | None = None
    GlobalTableSettingsReplicationMode: members.ReplicationMode | None = None
    VectorIndexes: list[index_members.NewVectorIndex] | None = None


class UpdateTableRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The request; members in the order in which their faults are reported."""

    TableName: NameOrArn
    ProvisionedThroughput: members.ProvisionedThroughput | None = None
    BillingMode: members.BillingMode | None = None
    GlobalSecondaryIndexUpdates: list[index_members.GlobalSecondaryIndexUpdate] | None = None
    AttributeDefinitions: list[members.AttributeDefinition] | None = None
    StreamSpecification: members.StreamSpecification | None = None
    SSESpecification: members.SSESpecification | None = None
    ReplicaUpdates: Annotated[list[replica_members.ReplicationGroupUpdate], Meta(min_length=1)] | None = None
    TableClass: members.TableClass | None = None
    DeletionProtectionEnabled: bool | None = None
    MultiRegionConsistency: replica_members.MultiRegionConsistency | None = None
    GlobalTableWitnessUpdates: (
        Annotated[list[replica_members.GlobalTableWitnessGroupUpdate], Meta(min_length=1, max_length=1)] | None
    ) = None
    OnDemandThroughput: members.OnDemandThroughput | None = None
    WarmThroughput: members.WarmThroughput | None = None
    GlobalTableSettingsReplicationMode: members.ReplicationMode | None = None
    DisassociationProtectionEnabled: bool | None = None
    VectorIndexUpdates: list[index_members.VectorIndexUpdate] | None = None
