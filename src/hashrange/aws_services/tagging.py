"""How do operations on tags work, of whichever service? A record for each kind of resource makes three operations:
one adds tags to a resource or replaces their values, one removes tags, one lists them.

The record says in what services differ: how a request names its resource, which tags a resource may have, what is
said of others, how tags are stored, and how replies show them.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec

TagSet = Mapping[str, str]
"""Key → value, in the order in which keys were added."""
TagsChange = Callable[[TagSet], dict[str, str]]
"""A resource's tags → those that it has afterwards. Raises the service's errors; it may be called again."""
WorksOnT = TypeVar("WorksOnT")
TaggedT = TypeVar("TaggedT")


class TaggedArnRequest(msgspec.Struct, frozen=True):
    """Request of ListTagsForResource."""

    ResourceARN: str


class UntagArnRequest(TaggedArnRequest, frozen=True):
    """Request of UntagResource, in the services that list tags by ListTagsForResource."""

    TagKeys: list[str]


def is_reserved_tag(key: str) -> bool:
    """True for keys that only AWS itself gives to resources."""
    return key.lower().startswith("aws:")


def key_value_tags(tags: TagSet) -> list[dict[str, str]]:
    """The tags as most services show them."""
    return [{"Key": key, "Value": value} for key, value in tags.items()]


class Tagging(msgspec.Struct, Generic[WorksOnT, TaggedT], frozen=True):
    """The tags of one kind of resource. Its functions raise the service's errors."""

    find: Callable[[WorksOnT, Any, Any], TaggedT]
    """`find(works_on, caller, request)`: the resource that a request names, after what is checked before it."""
    added: Callable[[TaggedT, TagSet, Any], dict[str, str]]
    """`added(resource, present, given)`: the tags of a resource that has `present`, with those of a request."""
    store: Callable[[WorksOnT, Any, TaggedT, TagsChange], Awaitable[TagSet]]
    """`store(works_on, caller, resource, change)`: stores the changed tags of a resource, and returns them."""
    gone: Callable[[TagSet, Sequence[str]], Collection[str]] = lambda _present, keys: set(keys)
    """`gone(present, keys)`: the keys that a request removes; those that the resource lacks do no harm."""
    shown: Callable[[TagSet], Any] = dict
    """Tags as replies show them."""
    are_told: bool = False
    """True if the replies of operations that change tags show all tags of the resource; else they are empty."""

    async def tag(self, works_on: WorksOnT, caller: Any, request: Any) -> Mapping[str, Any] | None:
        """Add the request's `Tags`. Raises the service's errors and StorageError."""
        resource = self.find(works_on, caller, request)
        return await self._change(
            works_on, caller, resource, lambda present: self.added(resource, present, request.Tags)
        )

    async def untag(self, works_on: WorksOnT, caller: Any, request: Any) -> Mapping[str, Any] | None:
        """Remove the tags with the keys in the request's `TagKeys`. Raises the service's errors and StorageError."""

        def remove(present: TagSet) -> dict[str, str]:
            gone = self.gone(present, request.TagKeys)
            return {key: value for key, value in present.items() if key not in gone}

        return await self._change(works_on, caller, self.find(works_on, caller, request), remove)

    async def _change(
        self, works_on: WorksOnT, caller: Any, resource: TaggedT, change: TagsChange
    ) -> Mapping[str, Any] | None:
        tags = await self.store(works_on, caller, resource, change)
        return {"Tags": self.shown(tags)} if self.are_told else None

    async def list_tags(self, works_on: WorksOnT, caller: Any, request: Any) -> Mapping[str, Any]:
        """All tags of the resource; for services without pages. Raises the service's errors."""
        resource: Any = self.find(works_on, caller, request)
        return {"Tags": self.shown(resource.tags)}


def kept_by(
    keep: Callable[[WorksOnT, Any], Awaitable[object]],
) -> Callable[[WorksOnT, Any, Any, TagsChange], Awaitable[TagSet]]:
    """`Tagging.store` for records with the member `tags`: `keep(works_on, record)` stores the changed one."""

    async def store(works_on: WorksOnT, _caller: object, resource: Any, change: TagsChange) -> TagSet:
        tags = change(resource.tags)
        await keep(works_on, msgspec.structs.replace(resource, tags=tags))
        return tags

    return store
