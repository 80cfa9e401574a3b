"""A wiki with PynamoDB: pages with versions, an index by time, one by author, revisions in the same table."""

from datetime import datetime
from typing import Any

from pynamodb.attributes import (
    DiscriminatorAttribute,
    JSONAttribute,
    ListAttribute,
    MapAttribute,
    NumberAttribute,
    TTLAttribute,
    UnicodeAttribute,
    UnicodeSetAttribute,
    UTCDateTimeAttribute,
    VersionAttribute,
)
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex, IncludeProjection, LocalSecondaryIndex
from pynamodb.models import Model

TABLE = "wiki"


class ByTime(LocalSecondaryIndex["Entry"]):
    """Index of a space's entries by time; read consistently."""

    class Meta:
        index_name = "by-time"
        projection = AllProjection()

    space = UnicodeAttribute(hash_key=True)
    changed = UTCDateTimeAttribute(range_key=True)


class ByAuthor(GlobalSecondaryIndex["Page"]):
    """Index of an author's pages by size; only pages have an author."""

    class Meta:
        index_name = "by-author"
        projection = IncludeProjection(["cls", "changed"])

    author = UnicodeAttribute(hash_key=True)
    words = NumberAttribute(range_key=True)


class Entry(Model):
    """Attributes of every item."""

    class Meta:
        table_name = TABLE
        host: str | None = None
        region = "eu-west-1"
        billing_mode = "PAY_PER_REQUEST"
        aws_access_key_id = "key"
        aws_secret_access_key = "secret"

    space = UnicodeAttribute(hash_key=True)
    path = UnicodeAttribute(range_key=True)
    kind = DiscriminatorAttribute(attr_name="cls")
    changed = UTCDateTimeAttribute()
    by_time = ByTime()


class Link(MapAttribute[Any, Any]):
    """Target of a link."""

    to = UnicodeAttribute()
    count = NumberAttribute(default=1)


class Page(Entry, discriminator="Page"):
    """A page, written by one author at a time."""

    author = UnicodeAttribute()
    words = NumberAttribute(default=0)
    tags = UnicodeSetAttribute(null=True)
    links = ListAttribute(of=Link, default=list)
    properties = JSONAttribute(null=True)
    version = VersionAttribute()
    by_author = ByAuthor()


class Draft(Entry, discriminator="Draft"):
    """A text before it becomes a page."""

    text = UnicodeAttribute()
    expires = TTLAttribute(null=True)


MODELS = (Entry, Page, Draft)


def connect(endpoint: str) -> None:
    """Let all models use this server."""
    for model in MODELS:
        model.Meta.host = endpoint
        model._connection = None


def page(path: str, author: str, words: int, changed: datetime, **values: Any) -> Page:
    """A page in the space `home`."""
    return Page("home", path, author=author, words=words, changed=changed, **values)


def link(to: str) -> Link:
    """One link to a page."""
    return Link(to=to)  # type: ignore[no-untyped-call] # PynamoDB's maps have no typed constructor
