"""Which `Table` does a CreateTable request describe? UpdateTable shares the functions for throughput,
on-demand maximum, encryption and global indexes.

The caller passes what the request does not hold: table id, account, Region and time.
"""

import hashlib
import uuid
from typing import Any

from hashrange.operations.tables import members
from hashrange.operations.tables.index_members import (
    CreateGlobalSecondaryIndexAction,
    GlobalSecondaryIndex,
    LocalSecondaryIndex,
    NewVectorIndex,
)
from hashrange.operations.tables.requests import CreateTableRequest
from hashrange.operations.tables.tags import read_tags
from hashrange.operations.tables.throughput_checks import given_units
from hashrange.tables import schema
from hashrange.tables.description import stream_label
from hashrange.tables.schema import Index, KeySchema, KeyType, SearchSchemaElement, Table, Throughput, VectorIndex


def make_table(
    request: CreateTableRequest,
    name: str,
    table_id: int,
    account: str,
    region: str,
    now_seconds: float,
    active_at_seconds: float,
) -> Table:
    """The table that the request describes, without its resource policy; CREATING until `active_at_seconds`."""
    types: dict[str, KeyType] = {
        definition.AttributeName: definition.AttributeType for definition in request.AttributeDefinitions
    }
    is_on_demand = request.BillingMode == "PAY_PER_REQUEST"
    stream = request.StreamSpecification
    has_stream = stream is not None and stream.StreamEnabled
    sse_type, kms_key_arn = encryption(request.SSESpecification, account, region)
    indexes = _indexes(request.LocalSecondaryIndexes or [], request.GlobalSecondaryIndexes or [], types)
    vector_indexes = tuple(
        [vector_index(one, number) for number, one in enumerate(request.VectorIndexes or (), len(indexes) + 1)]
    )
    return Table(
        table_id=table_id,
        uuid=table_uuid(account, region, table_id, now_seconds),
        account=account,
        region=region,
        name=name,
        keys=key_schema(request.KeySchema, types),
        attribute_types=types,
        created_at_seconds=now_seconds,
        active_at_seconds=active_at_seconds,
        indexes=indexes,
        next_index_id=len(indexes) + len(vector_indexes) + 1,
        billing_mode="PAY_PER_REQUEST" if is_on_demand else "PROVISIONED",
        throughput=throughput(request.ProvisionedThroughput) or Throughput(0, 0),
        tags=read_tags(request.Tags or ()),
        table_class=request.TableClass or "STANDARD",
        is_deletion_protected=bool(request.DeletionProtectionEnabled),
        sse_type=sse_type,
        kms_key_arn=kms_key_arn,
        switched_to_on_demand_at_seconds=now_seconds if is_on_demand else None,
        stream_view_type=stream.StreamViewType if stream and has_stream else None,
        stream_label=stream_label(now_seconds) if has_stream else None,
        vector_indexes=vector_indexes,
        **asked_units(request.OnDemandThroughput, request.WarmThroughput),
    )


def table_uuid(account: str, region: str, table_id: int, now_seconds: float) -> str:
    """The TableId: a UUID that depends on the arguments alone, which differ between any two tables."""
    digest = hashlib.sha256(f"{account}/{region}/{table_id}/{now_seconds!r}".encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))


def key_schema(keys: list[members.KeySchemaElement], types: dict[str, KeyType]) -> KeySchema:
    """The key schema; `types`: attribute name → type."""
    partition = tuple(key.AttributeName for key in keys if key.KeyType == "HASH")
    sort = tuple(key.AttributeName for key in keys if key.KeyType == "RANGE")
    return KeySchema(
        partition_names=partition,
        partition_types=tuple(types[name] for name in partition),
        sort_names=sort,
        sort_types=tuple(types[name] for name in sort),
    )


def throughput(given: members.ProvisionedThroughput | None) -> Throughput | None:
    """The provisioned throughput; None if not given."""
    return None if given is None else Throughput(given.ReadCapacityUnits, given.WriteCapacityUnits)


_UNITS_FIELDS = {
    "MaxReadRequestUnits": "on_demand_max_read_units",
    "MaxWriteRequestUnits": "on_demand_max_write_units",
    "ReadUnitsPerSecond": "warm_read_units",
    "WriteUnitsPerSecond": "warm_write_units",
}


def asked_units(*given: members.OnDemandThroughput | members.WarmThroughput | None) -> dict[str, Any]:
    """Field of a table or index → the units that are asked for it; None for a maximum that ends (-1)."""
    asked = [pair for one in given for pair in given_units(one)]
    return {_UNITS_FIELDS[member]: None if units == -1 else units for member, units in asked}


def encryption(
    given: members.SSESpecification | None, account: str, region: str
) -> tuple[schema.SseType | None, str | None]:
    """Type and key ARN of the requested encryption; None for both if it is off. A type alone turns it on.

    If no key is named, the ARN has a made-up key id, always the same for the account and Region.
    """
    if given is None or not (given.SSEType == "KMS" if given.Enabled is None else given.Enabled):
        return None, None
    key = given.KMSMasterKeyId
    if key is None:
        digest = hashlib.sha256(f"alias/aws/dynamodb/{account}/{region}".encode()).digest()
        key = str(uuid.UUID(bytes=digest[:16], version=4))
    if key.startswith("arn:"):
        return "KMS", key
    resource = key if key.startswith("alias/") else f"key/{key}"
    return "KMS", f"arn:aws:kms:{region}:{account}:{resource}"


def global_index(
    index: GlobalSecondaryIndex | CreateGlobalSecondaryIndexAction, index_id: int, types: dict[str, KeyType]
) -> Index:
    """The global index that a CreateTable or UpdateTable requests, as ACTIVE; UpdateTable then sets CREATING."""
    return Index(
        index_id=index_id,
        name=index.IndexName,
        is_global=True,
        keys=key_schema(index.KeySchema, types),
        projection=_projection(index.Projection),
        throughput=throughput(index.ProvisionedThroughput),
        **asked_units(index.OnDemandThroughput, index.WarmThroughput),
    )


def vector_index(given: NewVectorIndex, index_id: int) -> VectorIndex:
    """The vector index that a CreateTable or UpdateTable requests, as ACTIVE; UpdateTable then sets CREATING."""
    return VectorIndex(
        index_id,
        given.IndexName,
        given.VectorAttribute.AttributeName,
        given.Dimensions,
        given.DistanceFunction,
        _projection(given.Projection),
        tuple(
            [
                SearchSchemaElement(element.AttributeName, element.SearchSchemaElementType)
                for element in given.SearchSchema or ()
            ]
        ),
    )


def _indexes(
    local: list[LocalSecondaryIndex], global_: list[GlobalSecondaryIndex], types: dict[str, KeyType]
) -> tuple[Index, ...]:
    """All indexes, local ones first, with index ids from 1."""
    made = [
        Index(
            index_id=number,
            name=index.IndexName,
            is_global=False,
            keys=key_schema(index.KeySchema, types),
            projection=_projection(index.Projection),
        )
        for number, index in enumerate(local, 1)
    ]
    made += [global_index(index, number, types) for number, index in enumerate(global_, len(local) + 1)]
    return tuple(made)


def _projection(given: members.Projection) -> schema.IndexProjection:
    assert given.ProjectionType is not None, "checked"
    return schema.IndexProjection(given.ProjectionType, tuple(given.NonKeyAttributes or ()))
