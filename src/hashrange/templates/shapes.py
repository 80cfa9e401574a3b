"""Which types must the properties of resources have? Those of which more is asked here than that they are passed on."""

from typing import Any

import msgspec

from hashrange.templates.stack import (
    ALARM_TYPE,
    FUNCTION_TYPE,
    GLOBAL_TABLE_TYPE,
    MAPPING_TYPE,
    POLICY_TYPE,
    TABLE_TYPE,
    TARGET_TYPE,
    TypedResource,
)
from hashrange.templates.texts import TemplateError
from hashrange.written.values import fault_in

_Object = dict[str, Any]
_Units = dict[str, int]


class _Key(msgspec.Struct, frozen=True):
    AttributeName: str
    KeyType: str


class _Attribute(msgspec.Struct, frozen=True):
    AttributeName: str
    AttributeType: str


class _Tag(msgspec.Struct, frozen=True):
    Key: str
    Value: str


class _Projection(msgspec.Struct, frozen=True):
    ProjectionType: str | None = None
    NonKeyAttributes: list[str] = []


class _Scaling(msgspec.Struct, frozen=True):
    MinCapacity: int | None = None
    MaxCapacity: int | None = None
    SeedCapacity: int | None = None
    TargetTrackingScalingPolicyConfiguration: _Object = {}


class _ReadSettings(msgspec.Struct, frozen=True):
    ReadCapacityUnits: int | None = None
    ReadCapacityAutoScalingSettings: _Scaling | None = None


class _WriteSettings(msgspec.Struct, frozen=True):
    WriteCapacityAutoScalingSettings: _Scaling | None = None


class _Capacity(msgspec.Struct, frozen=True):
    ProvisionedThroughput: _Units = {}
    OnDemandThroughput: _Units = {}
    WarmThroughput: _Units = {}
    WriteProvisionedThroughputSettings: _WriteSettings | None = None
    WriteOnDemandThroughputSettings: _Units = {}
    ReadProvisionedThroughputSettings: _ReadSettings | None = None
    ReadOnDemandThroughputSettings: _Units = {}
    ContributorInsightsSpecification: _Object = {}


class _Index(_Capacity, frozen=True, kw_only=True):
    IndexName: str
    KeySchema: list[_Key] = []
    Projection: _Projection | None = None


class _ReplicaIndex(_Capacity, frozen=True, kw_only=True):
    IndexName: str


class _Stream(msgspec.Struct, frozen=True):
    StreamViewType: str | None = None


class _TimeToLive(msgspec.Struct, frozen=True):
    AttributeName: str | None = None


class _KinesisStream(msgspec.Struct, frozen=True):
    StreamArn: str | None = None


class _Encryption(msgspec.Struct, frozen=True):
    KMSMasterKeyId: str | None = None


class _OfTable(_Capacity, frozen=True, kw_only=True):
    PointInTimeRecoverySpecification: _Object = {}
    ResourcePolicy: _Object = {}
    KinesisStreamSpecification: _KinesisStream | None = None
    SSESpecification: _Encryption | None = None
    TableClass: str | None = None
    Tags: list[_Tag] = []


class _Replica(_OfTable, frozen=True, kw_only=True):
    Region: str
    GlobalSecondaryIndexes: list[_ReplicaIndex] = []


class _Table(_OfTable, frozen=True, kw_only=True):
    TableName: str
    BillingMode: str | None = None
    AttributeDefinitions: list[_Attribute] = []
    KeySchema: list[_Key] = []
    GlobalSecondaryIndexes: list[_Index] = []
    LocalSecondaryIndexes: list[_Index] = []
    StreamSpecification: _Stream | None = None
    TimeToLiveSpecification: _TimeToLive | None = None


class _GlobalTable(_Table, frozen=True, kw_only=True):
    Replicas: list[_Replica] = []


class _Function(msgspec.Struct, frozen=True):
    FunctionName: str
    Code: str | _Object = {}
    Tags: list[_Tag] = []


class _Mapping(msgspec.Struct, frozen=True):
    FunctionName: str = ""
    EventSourceArn: str = ""


class _Scaled(msgspec.Struct, frozen=True):
    ServiceNamespace: str = ""
    ResourceId: str = ""
    ScalableDimension: str = ""
    ScalingTargetId: str = ""
    PolicyName: str = ""
    MinCapacity: int = 0
    MaxCapacity: int = 0


class _Alarm(msgspec.Struct, frozen=True):
    AlarmName: str


SHAPES: dict[str, type] = {
    TABLE_TYPE: _Table,
    GLOBAL_TABLE_TYPE: _GlobalTable,
    FUNCTION_TYPE: _Function,
    MAPPING_TYPE: _Mapping,
    TARGET_TYPE: _Scaled,
    POLICY_TYPE: _Scaled,
    ALARM_TYPE: _Alarm,
}


def require_shape(resource: TypedResource) -> None:
    """Raise TemplateError if a property has another type."""
    shape = SHAPES[resource.type]
    try:
        msgspec.convert(resource.properties, type=shape)
    except msgspec.ValidationError:
        raise TemplateError(f"{resource.place}: {fault_in(resource.properties, shape, 'object')}") from None
