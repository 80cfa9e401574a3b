"""ListTagsOfResource: return a table's tags, sorted by key, in pages.

Order of checks: ResourceArn is present, member constraints (slow path) → form of the ARN → form of NextToken → the
table exists. A page holds as many tags as a table may carry. A token is the Base64 of the last key returned, so
it stays valid when tags are added or removed.
"""

import base64
import binascii
from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.errors import ValidationException
from hashrange.limits import TAGS_PER_PAGE
from hashrange.messages import tables as say
from hashrange.operations.naming import TABLE_ARN_FIRST, by_resource_arn
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.tables.tagged_resource import check_arn, find_tagged


class ListTagsOfResourceRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A table's ARN, and the page token."""

    ResourceArn: Annotated[str, Meta(min_length=1, max_length=1283)]
    NextToken: str | None = None


async def list_tags_of_resource(scope: Scope, request: ListTagsOfResourceRequest) -> Reply:
    """A page of tags whose keys follow the key in the request's NextToken; a new NextToken only if more follow."""
    check_arn(scope, request.ResourceArn, "ListTagsOfResource")
    after = _decode_token(request.NextToken)
    table = await find_tagged(scope, request.ResourceArn)
    keys = sorted(key for key in table.tags if after is None or key > after)
    page = keys[:TAGS_PER_PAGE]
    reply: Reply = {"Tags": [{"Key": key, "Value": table.tags[key]} for key in page]}
    if len(keys) > len(page):
        reply["NextToken"] = base64.b64encode(page[-1].encode()).decode()
    return reply


def _decode_token(token: str | None) -> str | None:
    if token is None:
        return None
    try:
        return base64.b64decode(token, validate=True).decode()
    except (binascii.Error, ValueError):
        raise ValidationException(say.TAGS_TOKEN_INVALID) from None


OPERATION = Operation(
    "ListTagsOfResource",
    ListTagsOfResourceRequest,
    list_tags_of_resource,
    JsonWire(rules=TABLE_ARN_FIRST),
    tables=by_resource_arn,
)
