"""Which changes may one UpdateTable make together? Few: encryption, class, protection and warm throughput come alone,
and a stream or an index not with throughput.

The checks need the request alone. Source: service behaviour, captures to October 2026, and the developer guide's
example of warm throughput for a table and an index together.
"""

from collections.abc import Sequence

from hashrange.errors import ValidationException
from hashrange.items.steps import walk
from hashrange.messages import tables as say
from hashrange.operations.tables.members import OnDemandThroughput, WarmThroughput
from hashrange.operations.tables.requests import UpdateTableRequest

_MEMBERS_WITHOUT_CHANGES = {"TableName", "AttributeDefinitions"}
_NO_CHANGE: Sequence[object] = (None, [], OnDemandThroughput(), WarmThroughput())
_CHANGED_IN_PLACE = {
    "DeletionProtectionEnabled",
    "OnDemandThroughput",
    "WarmThroughput",
    "SSESpecification",
    "GlobalSecondaryIndexUpdates",
}
_ALONE = (
    ("SSESpecification", "Server-Side Encryption"),
    ("TableClass", "TableClass"),
    ("DeletionProtectionEnabled", "DeletionProtection"),
)
"""Members that come alone, in the order in which messages name them."""


def asked_changes(request: UpdateTableRequest) -> set[str]:
    """Names of the members that ask for a change. Structures and lists without members ask for none."""
    names = request.__struct_fields__
    return {name for name in names if name not in _MEMBERS_WITHOUT_CHANGES and getattr(request, name) not in _NO_CHANGE}


def makes_updating(request: UpdateTableRequest) -> bool:
    """True if the table is UPDATING because of the request; protection, maxima and warm throughput,
    encryption and indexes' capacity change without.
    """
    updates = request.GlobalSecondaryIndexUpdates or []
    is_indexed = any(update.Update is None for update in walk(updates))
    return is_indexed or bool(asked_changes(request) - _CHANGED_IN_PLACE)


def check_combination(request: UpdateTableRequest) -> None:
    """Raise ValidationException for the first rule that the changes break together."""
    asked = asked_changes(request)
    for member, kind in _ALONE:
        if member in asked and len(asked) > 1:
            raise ValidationException(say.ONLY_CHANGE.format(kind=kind))
    updates = request.GlobalSecondaryIndexUpdates or []
    is_created = any(update.Create is not None for update in walk(updates))
    is_indexed = is_created or any(update.Delete is not None for update in walk(updates))
    if "OnDemandThroughput" in asked and asked - {"OnDemandThroughput", "BillingMode"}:
        raise ValidationException(say.MAXIMUM_WITH_OTHER_CHANGE)
    if "WarmThroughput" in asked:
        if is_created:
            raise ValidationException(say.WARM_WITH_NEW_INDEX)
        if is_indexed or asked - {"WarmThroughput", "GlobalSecondaryIndexUpdates"}:
            raise ValidationException(say.WARM_WITH_OTHER_CHANGE)
    has_stream, has_units = "StreamSpecification" in asked, "ProvisionedThroughput" in asked
    if has_stream and has_units:  # with units, the billing mode is or becomes PROVISIONED
        raise ValidationException(say.STREAM_WITH_UNITS)
    if is_indexed and has_units and "BillingMode" not in asked:
        raise ValidationException(say.INDEX_WITH_UNITS)
    if is_indexed and has_stream:
        raise ValidationException(say.INDEX_WITH_STREAM)
