"""Which members do the resource-policy operations share?"""

from typing import Annotated

from msgspec import Meta

ResourceArn = Annotated[str, Meta(min_length=1, max_length=1283)]
RevisionId = Annotated[str, Meta(min_length=1, max_length=255)]
