"""Which members do requests for a page of a list have? Where it begins, and its length.
The lists of this file's users are empty.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.functions.api import members

ListLength = Annotated[int, Meta(ge=1, le=50, extra={"shape": "Integer"})]


class ListOfFunctionRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A page of what a function has."""

    FunctionName: members.FunctionNameText
    Marker: str | None = None
    MaxItems: ListLength | None = None


class ListOfLayersRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A page of layers."""

    CompatibleArchitecture: members.Architecture | None = None
    CompatibleRuntime: Annotated[str, Meta(max_length=256)] | None = None
    Marker: str | None = None
    MaxItems: ListLength | None = None
