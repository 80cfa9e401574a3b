"""TagResource: add tags to a table, or replace tag values.

Order of checks: ResourceArn is present, member constraints (slow path) → form of the ARN → at least one tag →
missing, long, reserved and repeated keys, number of tags → the table exists → it is not being created or deleted →
it has at most 50 tags afterwards.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.errors import ValidationException
from hashrange.messages import tables as say
from hashrange.operations.busy_tables import require_changeable_tags
from hashrange.operations.naming import TABLE_ARN_FIRST, by_resource_arn
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.tables import members
from hashrange.operations.tables.settings_checks import check_tag_count, read_tags
from hashrange.operations.tables.tagged_resource import check_arn, find_tagged


class TagResourceRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A table's ARN and the tags to add."""

    ResourceArn: Annotated[str, Meta(min_length=1, max_length=1283)]
    Tags: list[members.Tag]


async def tag_resource(scope: Scope, request: TagResourceRequest) -> None:
    """Add the tags to the stored table; the reply is empty."""
    check_arn(scope, request.ResourceArn, "TagResource")
    if not request.Tags:
        raise ValidationException(say.TAGS_EMPTY)
    given = read_tags(request.Tags)
    while True:
        table = await find_tagged(scope, request.ResourceArn)
        require_changeable_tags(table, scope.clock.service_time())
        tags = table.tags | given
        check_tag_count(len(tags))
        if await scope.store.catalog.replace(table, msgspec.structs.replace(table, tags=tags)):
            return


OPERATION = Operation(
    "TagResource",
    TagResourceRequest,
    tag_resource,
    JsonWire(rules=TABLE_ARN_FIRST),
    tables=by_resource_arn,
    writes=True,
)
