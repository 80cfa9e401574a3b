"""How does a control-plane operation find its table? A request struct names it;
the lookup raises ResourceNotFoundException if it is missing.
"""

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
"""A table as ListExports and ListImports name it (`TableArn`). The API model constrains only its length."""


class TableRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A table by name or ARN; base of the request structs of operations on one table, which may add members."""

    TableName: NameOrArn


async def described_table(scope: Scope, name_or_arn: str) -> Table:
    """The table, in any state; raises ResourceNotFoundException if there is none, Malformed for an impossible name."""
    table = await find_table(scope, name_or_arn)
    if table is None:
        raise ResourceNotFoundException(say.TABLE_NOT_FOUND.format(name=table_name(name_or_arn)))
    return table
