"""Which members do requests for event source mappings have?
Those of the service model, also for event sources that are not triggers.

Members are in the model's order, in which their faults are reported.
A Region in an ARN may have any name that a signature may have, such as `local`; the model's pattern knows Regions
of AWS only. Source: botocore's service model of Lambda, 2015-03-31.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from hashrange.functions.api.members import FunctionNameText, TagMap

_INTEGER = {"shape": "Integer"}
_REGION = "[a-zA-Z0-9][a-zA-Z0-9_-]{0,62}"
ARN_PATTERN = rf"arn:(aws[a-zA-Z0-9-]*):([a-zA-Z0-9\-])+:({_REGION})?:(\d{{12}})?:(.*)"
DESTINATION_PATTERN = rf"$|kafka://([^.]([a-zA-Z0-9\-_.]{{0,248}}))|{ARN_PATTERN}"

Arn = Annotated[str, Meta(max_length=10_000, extra={"pattern": ARN_PATTERN})]
MappingUuid = Annotated[str, Meta(min_length=36, max_length=36)]
KmsKeyArn = Annotated[str, Meta(max_length=10_000, extra={"pattern": r"(arn:(aws[a-zA-Z-]*)?:[a-z0-9-.]+:.*)|()"})]

BatchRecords = Annotated[int, Meta(ge=1, le=10_000, extra=_INTEGER)]
BatchingWindowSeconds = Annotated[int, Meta(ge=0, le=300, extra=_INTEGER)]
BatchesOfShard = Annotated[int, Meta(ge=1, le=10, extra=_INTEGER)]
RecordAgeSeconds = Annotated[int, Meta(ge=-1, le=604_800, extra=_INTEGER)]
RetryAttempts = Annotated[int, Meta(ge=-1, le=10_000, extra=_INTEGER)]
TumblingWindowSeconds = Annotated[int, Meta(ge=0, le=900, extra=_INTEGER)]
ResponseTypes = Annotated[list[Literal["ReportBatchItemFailures"]], Meta(max_length=1)]


class FilterMembers(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One filter."""

    Pattern: Annotated[str, Meta(max_length=4096)] | None = None


class FilterCriteriaMembers(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """FilterCriteria."""

    Filters: list[FilterMembers] | None = None


class MetricsMembers(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """MetricsConfig."""

    Metrics: Annotated[list[Literal["EventCount", "ErrorCount", "KafkaMetrics"]], Meta(max_length=3)] | None = None


class LoggingMembers(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """LoggingConfig."""

    SystemLogLevel: Literal["DEBUG", "INFO", "WARN"] | None = None


class DestinationMembers(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """OnSuccess or OnFailure."""

    Destination: Annotated[str, Meta(max_length=350, extra={"pattern": DESTINATION_PATTERN})] | None = None


class DestinationConfigMembers(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """DestinationConfig."""

    OnSuccess: DestinationMembers | None = None
    OnFailure: DestinationMembers | None = None


class OtherSourceMembers(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Members of a structure that belongs to other event sources; it is refused, whatever is in it."""


class CreateEventSourceMappingRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The request of CreateEventSourceMapping."""

    EventSourceArn: Arn | None = None
    FunctionName: FunctionNameText
    Enabled: bool | None = None
    BatchSize: BatchRecords | None = None
    FilterCriteria: FilterCriteriaMembers | None = None
    KMSKeyArn: KmsKeyArn | None = None
    MetricsConfig: MetricsMembers | None = None
    LoggingConfig: LoggingMembers | None = None
    ScalingConfig: OtherSourceMembers | None = None
    MaximumBatchingWindowInSeconds: BatchingWindowSeconds | None = None
    ParallelizationFactor: BatchesOfShard | None = None
    StartingPosition: Literal["TRIM_HORIZON", "LATEST", "AT_TIMESTAMP"] | None = None
    StartingPositionTimestamp: float | None = None
    DestinationConfig: DestinationConfigMembers | None = None
    MaximumRecordAgeInSeconds: RecordAgeSeconds | None = None
    BisectBatchOnFunctionError: bool | None = None
    MaximumRetryAttempts: RetryAttempts | None = None
    Tags: TagMap | None = None
    TumblingWindowInSeconds: TumblingWindowSeconds | None = None
    Topics: list[str] | None = None
    Queues: list[str] | None = None
    SourceAccessConfigurations: list[OtherSourceMembers] | None = None
    SelfManagedEventSource: OtherSourceMembers | None = None
    FunctionResponseTypes: ResponseTypes | None = None
    AmazonManagedKafkaEventSourceConfig: OtherSourceMembers | None = None
    SelfManagedKafkaEventSourceConfig: OtherSourceMembers | None = None
    DocumentDBEventSourceConfig: OtherSourceMembers | None = None
    ProvisionedPollerConfig: OtherSourceMembers | None = None


class UpdateEventSourceMappingRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The request of UpdateEventSourceMapping. Members that are absent stay as they are."""

    UUID: MappingUuid
    FunctionName: FunctionNameText | None = None
    Enabled: bool | None = None
    BatchSize: BatchRecords | None = None
    FilterCriteria: FilterCriteriaMembers | None = None
    KMSKeyArn: KmsKeyArn | None = None
    MetricsConfig: MetricsMembers | None = None
    LoggingConfig: LoggingMembers | None = None
    ScalingConfig: OtherSourceMembers | None = None
    MaximumBatchingWindowInSeconds: BatchingWindowSeconds | None = None
    ParallelizationFactor: BatchesOfShard | None = None
    DestinationConfig: DestinationConfigMembers | None = None
    MaximumRecordAgeInSeconds: RecordAgeSeconds | None = None
    BisectBatchOnFunctionError: bool | None = None
    MaximumRetryAttempts: RetryAttempts | None = None
    TumblingWindowInSeconds: TumblingWindowSeconds | None = None
    SourceAccessConfigurations: list[OtherSourceMembers] | None = None
    FunctionResponseTypes: ResponseTypes | None = None
    AmazonManagedKafkaEventSourceConfig: OtherSourceMembers | None = None
    SelfManagedKafkaEventSourceConfig: OtherSourceMembers | None = None
    DocumentDBEventSourceConfig: OtherSourceMembers | None = None
    ProvisionedPollerConfig: OtherSourceMembers | None = None


class MappingUuidRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The request of GetEventSourceMapping and DeleteEventSourceMapping."""

    UUID: MappingUuid


class ListEventSourceMappingsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The request of ListEventSourceMappings."""

    EventSourceArn: Arn | None = None
    FunctionName: FunctionNameText | None = None
    Marker: str | None = None
    MaxItems: Annotated[int, Meta(ge=1, le=10_000, extra=_INTEGER)] | None = None


MembersOfMapping = CreateEventSourceMappingRequest | UpdateEventSourceMappingRequest
"""A request with settings of a mapping."""
OTHER_SOURCES_MEMBERS = (
    "ScalingConfig",
    "Topics",
    "Queues",
    "SourceAccessConfigurations",
    "SelfManagedEventSource",
    "AmazonManagedKafkaEventSourceConfig",
    "SelfManagedKafkaEventSourceConfig",
    "DocumentDBEventSourceConfig",
    "ProvisionedPollerConfig",
)
"""Members that belong to other event sources than streams of DynamoDB.
Empty lists are accepted, since tools send them."""
