"""The operations on tags of tables: TagResource, UntagResource, ListTagsOfResource. CreateTable checks tags too.

Order of checks: ResourceArn is present, member constraints (slow path) → form of the ARN → at least one tag or key →
missing, long, reserved and repeated keys, number of tags; or form of NextToken → the table exists → it is not being
created or deleted → it has at most 50 tags afterwards. Source: service behaviour, captures to October 2026.
"""

import base64
import binascii
from collections.abc import Collection, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange import limits
from hashrange.aws_services.operation import Operation
from hashrange.aws_services.tagging import Tagging, TagsChange, TagSet, is_reserved_tag, key_value_tags
from hashrange.errors import ResourceNotFoundException, ValidationException
from hashrange.items.steps import walk
from hashrange.messages import tables as say
from hashrange.operations.lookup import check_arn, find_whole_table, require_serving
from hashrange.operations.naming import TABLE_ARN_FIRST, by_resource_arn
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.tables.members import Tag
from hashrange.tables.schema import Table


class TaggedTableRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A table's ARN; base of the requests of these operations."""

    ResourceArn: Annotated[str, Meta(min_length=1, max_length=1283)]


class TagResourceRequest(TaggedTableRequest, frozen=True, kw_only=True, gc=False):
    """A table's ARN and the tags to add."""

    Tags: list[Tag]


class UntagResourceRequest(TaggedTableRequest, frozen=True, kw_only=True, gc=False):
    """A table's ARN and the keys of the tags to remove."""

    TagKeys: list[str]


class ListTagsOfResourceRequest(TaggedTableRequest, frozen=True, kw_only=True, gc=False):
    """A table's ARN, and the page token."""

    NextToken: str | None = None


# --- checks -------------------------------------------------------------------------------------


def read_tags(tags: Collection[Tag]) -> dict[str, str]:
    """Key → value. Refuses keys and values that are missing or too long, reserved and repeated keys,
    then more tags than a table may carry.
    """
    found: dict[str, str] = {}
    for tag in walk(tags):
        key, value = read_tag_key(tag.Key), tag.Value
        if value is None or len(value) > limits.TAG_VALUE_CHARACTERS_MAX:
            raise ValidationException(say.TAG_VALUE_INVALID.format(value="null" if value is None else value))
        if is_reserved_tag(key):
            raise ValidationException(say.RESERVED_TAG.format(key=key))
        if key in found:
            raise ValidationException(say.DUPLICATE_TAG.format(key=key))
        found[key] = value
    check_tag_count(len(found))
    return found


def read_tag_key(key: str | None) -> str:
    """The key. Refuses one that is missing, empty or too long."""
    if not key or len(key) > limits.TAG_KEY_CHARACTERS_MAX:
        raise ValidationException(say.TAG_KEY_INVALID.format(key="null" if key is None else key))
    return key


def check_tag_count(count: int) -> None:
    """Refuse more tags than a table may carry."""
    if count > limits.TAGS_MAX:
        raise ValidationException(say.TOO_MANY_TAGS)


# --- operations ---------------------------------------------------------------------------------


def _checked(scope: Scope, _: Scope, request: TaggedTableRequest) -> TaggedTableRequest:
    """A request that changes tags, after the checks that come before the table is looked up."""
    if isinstance(request, TagResourceRequest):
        check_arn(scope, request.ResourceArn, "TagResource")
        if not request.Tags:
            raise ValidationException(say.TAGS_EMPTY)
        read_tags(request.Tags)
    if isinstance(request, UntagResourceRequest):
        check_arn(scope, request.ResourceArn, "UntagResource")
        if not request.TagKeys:
            raise ValidationException(say.TAG_KEYS_EMPTY)
        for key in walk(request.TagKeys):
            read_tag_key(key)
    return request


async def _find_table(scope: Scope, request: TaggedTableRequest) -> Table:
    """The table of the ARN. Raises ResourceNotFoundException."""
    table = await find_whole_table(scope, request.ResourceArn)
    if table is None:
        not_found = say.RESOURCE_NOT_FOUND if isinstance(request, UntagResourceRequest) else say.ARN_NOT_FOUND
        raise ResourceNotFoundException(not_found.format(arn=request.ResourceArn))
    return table


def _added(_: TaggedTableRequest, present: TagSet, given: Sequence[Tag]) -> dict[str, str]:
    tags = {**present, **read_tags(given)}
    check_tag_count(len(tags))
    return tags


def _gone(present: TagSet, keys: Sequence[str]) -> Collection[str]:
    return {key for key in walk(keys) if key in present}


async def _store(scope: Scope, _: Scope, request: TaggedTableRequest, change: TagsChange) -> TagSet:
    while True:
        table = await _find_table(scope, request)
        require_serving(table, scope.clock.service_time())
        tags = change(table.tags)
        if await scope.store.catalog.replace(table, msgspec.structs.replace(table, tags=tags)):
            return tags


_TAGGING = Tagging(_checked, _added, _store, _gone)


async def tag_resource(scope: Scope, request: TagResourceRequest) -> None:
    """TagResource: add tags to a table, or replace tag values; the reply is empty."""
    await _TAGGING.tag(scope, scope, request)


async def untag_resource(scope: Scope, request: UntagResourceRequest) -> None:
    """UntagResource: remove tags from a table; missing keys are ignored, and the reply is empty."""
    await _TAGGING.untag(scope, scope, request)


async def list_tags_of_resource(scope: Scope, request: ListTagsOfResourceRequest) -> Reply:
    """ListTagsOfResource: return a table's tags, sorted by key, in pages; a NextToken only if more follow.

    A page holds as many tags as a table may carry. A token is the Base64 of the last key returned, so it stays valid
    when tags are added or removed.
    """
    check_arn(scope, request.ResourceArn, "ListTagsOfResource")
    after = _decode_token(request.NextToken)
    table = await _find_table(scope, request)
    keys = sorted(key for key in table.tags if after is None or key > after)
    page = keys[: limits.TAGS_PER_PAGE]
    reply: Reply = {"Tags": key_value_tags({key: table.tags[key] for key in page})}
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


_WIRE = JsonWire(rules=TABLE_ARN_FIRST)
OPERATIONS = (
    Operation("TagResource", TagResourceRequest, tag_resource, _WIRE, tables=by_resource_arn, writes=True),
    Operation("UntagResource", UntagResourceRequest, untag_resource, _WIRE, tables=by_resource_arn, writes=True),
    Operation("ListTagsOfResource", ListTagsOfResourceRequest, list_tags_of_resource, _WIRE, tables=by_resource_arn),
)
