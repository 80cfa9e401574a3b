"""UntagResource: remove tags from a table; missing keys are ignored.

Order of checks: ResourceArn is present, member constraints (slow path) → form of the ARN → at least one key,
length of the keys → the table exists → it is not being created or deleted.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.errors import ValidationException
from hashrange.items.steps import walk
from hashrange.messages import tables as say
from hashrange.operations.busy_tables import require_changeable_tags
from hashrange.operations.naming import TABLE_ARN_FIRST, by_resource_arn
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.tables.settings_checks import read_tag_key
from hashrange.operations.tables.tagged_resource import check_arn, find_tagged


class UntagResourceRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A table's ARN and the keys of the tags to remove."""

    ResourceArn: Annotated[str, Meta(min_length=1, max_length=1283)]
    TagKeys: list[str]


async def untag_resource(scope: Scope, request: UntagResourceRequest) -> None:
    """Remove the tags with these keys from the stored table; the reply is empty."""
    check_arn(scope, request.ResourceArn, "UntagResource")
    if not request.TagKeys:
        raise ValidationException(say.TAG_KEYS_EMPTY)
    for key in walk(request.TagKeys):
        read_tag_key(key)
    while True:
        table = await find_tagged(scope, request.ResourceArn, say.RESOURCE_NOT_FOUND)
        require_changeable_tags(table, scope.clock.service_time())
        taken = {key for key in walk(request.TagKeys) if key in table.tags}
        tags = {key: value for key, value in table.tags.items() if key not in taken}
        if await scope.store.catalog.replace(table, msgspec.structs.replace(table, tags=tags)):
            return


OPERATION = Operation(
    "UntagResource",
    UntagResourceRequest,
    untag_resource,
    JsonWire(rules=TABLE_ARN_FIRST),
    tables=by_resource_arn,
    writes=True,
)
