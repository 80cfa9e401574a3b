"""Which table is described? What the operations that read one thing back about a table share: the name, then existence."""

from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.errors import ResourceNotFoundException
from hashrange.messages import tables as say
from hashrange.operations.lookup import find_table, table_name
from hashrange.operations.operation import Scope
from hashrange.operations.shapes import TableName as NameOrArn
from hashrange.tables.schema import Table

ArnOrName = Annotated[str, Meta(min_length=1, max_length=1024)]
"""`TableArn` of the lists, which the model bounds and nothing more."""


class TableRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The table by name or ARN."""

    TableName: NameOrArn


async def described_table(scope: Scope, name_or_arn: str) -> Table:
    """The table in whatever state; raises ResourceNotFoundException, and Malformed for an impossible name."""
    table = await find_table(scope, name_or_arn)
    if table is None:
        raise ResourceNotFoundException(say.TABLE_NOT_FOUND.format(name=table_name(name_or_arn)))
    return table
