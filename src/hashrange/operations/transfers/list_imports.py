"""ListImports: list the caller's imports from S3, or those into one table. Always empty, also for a missing table.

Order of checks: member constraints → form and account of the ARN → NextToken (none is valid).
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.limits import TRANSFERS_LISTED_MAX
from hashrange.operations.described_table import ArnOrName
from hashrange.operations.empty_lists import HEX_TOKEN_PATTERN, refuse_token
from hashrange.operations.naming import by_table_arn
from hashrange.operations.operation import JSON, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.tables.tagged_resource import check_arn


class ListImportsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One table or all, page size and page token."""

    TableArn: ArnOrName | None = None
    PageSize: Annotated[int, Meta(ge=1, le=TRANSFERS_LISTED_MAX, extra={"shape": "Integer"})] | None = None
    NextToken: Annotated[str, Meta(min_length=112, max_length=1024, pattern=f"^{HEX_TOKEN_PATTERN}$")] | None = None


async def list_imports(scope: Scope, request: ListImportsRequest) -> Reply:
    """Return an empty list without a further page.

    Raises the errors of `check_arn`, and ValidationException for a NextToken.
    """
    if request.TableArn is not None:
        check_arn(scope, request.TableArn, "ListImports")
    refuse_token(request.NextToken)
    return {"ImportSummaryList": []}


OPERATION = Operation("ListImports", ListImportsRequest, list_imports, JSON, tables=by_table_arn)
