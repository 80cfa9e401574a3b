"""ListBulkOperations: list the caller's bulk writes. Always empty. Order of checks:
member constraints → NextToken (none is valid).
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.limits import TRANSFERS_LISTED_MAX
from hashrange.operations.empty_lists import HEX_TOKEN_PATTERN, refuse_token
from hashrange.operations.operation import JSON, Scope
from hashrange.operations.reply import Reply


class ListBulkOperationsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Page size and page token."""

    MaxResults: Annotated[int, Meta(ge=1, le=TRANSFERS_LISTED_MAX, extra={"shape": "Integer"})] | None = None
    NextToken: Annotated[str, Meta(min_length=1, max_length=1024, pattern=f"^{HEX_TOKEN_PATTERN}$")] | None = None


async def list_bulk_operations(scope: Scope, request: ListBulkOperationsRequest) -> Reply:
    """Return an empty list without a further page; raises ValidationException for a NextToken."""
    refuse_token(request.NextToken)
    return {"BulkOperationsSummaryList": []}


OPERATION = Operation("ListBulkOperations", ListBulkOperationsRequest, list_bulk_operations, JSON)
