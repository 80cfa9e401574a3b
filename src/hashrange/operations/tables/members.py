"""Which structures do control-plane requests share?
Nested ones, their members in the order in which faults are reported.

Enumeration values stand in the order in which the service's messages list them. Source: service model of November
2026 and captures of aggregated constraint messages.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from hashrange.operations.shapes import Long, PositiveLong

BillingMode = Literal["PROVISIONED", "PAY_PER_REQUEST"]
TableClass = Literal["STANDARD", "STANDARD_INFREQUENT_ACCESS"]
ReplicationMode = Literal["ENABLED", "DISABLED", "ENABLED_WITH_OVERRIDES"]

KeyAttributeName = Annotated[str, Meta(min_length=1, max_length=255)]
TableArn = Annotated[str, Meta(min_length=1, max_length=1024)]


class AttributeDefinition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Name and type of one key attribute."""

    AttributeName: KeyAttributeName
    AttributeType: Literal["B", "N", "S"]


class KeySchemaElement(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One attribute of a key, as partition key (HASH) or sort key (RANGE)."""

    AttributeName: KeyAttributeName
    KeyType: Literal["HASH", "RANGE"]


TableKeySchema = Annotated[list[KeySchemaElement], Meta(min_length=1, max_length=2)]
GlobalIndexKeySchema = Annotated[list[KeySchemaElement], Meta(min_length=1, max_length=8)]
"""Up to four HASH and four RANGE elements, since keys may have several attributes."""


class Projection(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The attributes that an index projects."""

    ProjectionType: Literal["ALL", "INCLUDE", "KEYS_ONLY"] | None = None
    NonKeyAttributes: Annotated[list[KeyAttributeName], Meta(min_length=1, max_length=20)] | None = None


class ProvisionedThroughput(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Capacity units per second."""

    WriteCapacityUnits: PositiveLong
    ReadCapacityUnits: PositiveLong


class OnDemandThroughput(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Maximum request units per second; -1: no maximum."""

    MaxReadRequestUnits: Long | None = None
    MaxWriteRequestUnits: Long | None = None


class WarmThroughput(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Units per second that are available immediately."""

    ReadUnitsPerSecond: Long | None = None
    WriteUnitsPerSecond: Long | None = None


class StreamSpecification(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Whether a stream records the table's changes, and which images of the item its records hold."""

    StreamEnabled: bool
    StreamViewType: Literal["OLD_IMAGE", "KEYS_ONLY", "NEW_AND_OLD_IMAGES", "NEW_IMAGE"] | None = None


class SSESpecification(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Whether data at rest is encrypted with a key of the account, and with which key."""

    Enabled: bool | None = None
    SSEType: Literal["AES256", "KMS"] | None = None
    KMSMasterKeyId: Annotated[str, Meta(min_length=1)] | None = None


class Tag(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A key with a value that a client attaches to a table.
    Both are required, but `tags.read_tags` says so.
    """

    Key: str | None = None
    Value: str | None = None
