"""Which structures declare or change indexes? The nested members for local, global and vector indexes.

Members stand in the order in which the service reports their faults. For global indexes this order differs between an
index created with its table and an index added later. Source: service model of November 2026 and captures of
aggregated constraint messages.
"""

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from hashrange.operations.shapes import IndexName as Name
from hashrange.operations.shapes import PositiveLong
from hashrange.operations.tables import members
from hashrange.tables.schema import SearchElementKind, VectorDistance


class LocalSecondaryIndex(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An index with the table's partition key."""

    IndexName: Name
    KeySchema: members.TableKeySchema
    Projection: members.Projection


class GlobalSecondaryIndex(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An index with keys of its own."""

    IndexName: Name
    KeySchema: members.GlobalIndexKeySchema
    Projection: members.Projection
    ProvisionedThroughput: members.ProvisionedThroughput | None = None
    OnDemandThroughput: members.OnDemandThroughput | None = None
    WarmThroughput: members.WarmThroughput | None = None


class VectorAttributeDefinition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The attribute that holds the vectors."""

    AttributeName: members.KeyAttributeName


class SearchSchemaMember(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An attribute that a vector search may constrain."""

    api_name: ClassVar[str] = "SearchSchemaElement"
    AttributeName: Annotated[str, Meta(max_length=65535)]
    SearchSchemaElementType: SearchElementKind


_SearchSchema = Annotated[list[SearchSchemaMember], Meta(min_length=1)]


class NewVectorIndex(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A vector index (nearest-neighbour search) in CreateTable; UpdateTable adds one by CreateVectorIndexAction."""

    api_name: ClassVar[str] = "VectorIndex"
    IndexName: Name
    VectorAttribute: VectorAttributeDefinition
    SearchSchema: _SearchSchema | None = None
    Projection: members.Projection
    Dimensions: PositiveLong
    DistanceFunction: VectorDistance


class CreateVectorIndexAction(NewVectorIndex, frozen=True, kw_only=True, gc=False):
    """An index for nearest-neighbour search, added to a table."""


class DeleteVectorIndexAction(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A vector index to delete."""

    IndexName: Name


class VectorIndexUpdate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One change of the vector indexes."""

    Create: CreateVectorIndexAction | None = None
    Delete: DeleteVectorIndexAction | None = None


class UpdateGlobalSecondaryIndexAction(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """New capacity of an existing global index."""

    IndexName: Name
    ProvisionedThroughput: members.ProvisionedThroughput | None = None
    OnDemandThroughput: members.OnDemandThroughput | None = None
    WarmThroughput: members.WarmThroughput | None = None


class CreateGlobalSecondaryIndexAction(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A global index to add."""

    Projection: members.Projection
    IndexName: Name
    ProvisionedThroughput: members.ProvisionedThroughput | None = None
    KeySchema: members.GlobalIndexKeySchema
    OnDemandThroughput: members.OnDemandThroughput | None = None
    WarmThroughput: members.WarmThroughput | None = None


class DeleteGlobalSecondaryIndexAction(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A global index to delete."""

    IndexName: Name


class GlobalSecondaryIndexUpdate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One change of the global indexes."""

    Update: UpdateGlobalSecondaryIndexAction | None = None
    Create: CreateGlobalSecondaryIndexAction | None = None
    Delete: DeleteGlobalSecondaryIndexAction | None = None
