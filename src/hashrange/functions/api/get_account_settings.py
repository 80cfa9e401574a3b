"""GetAccountSettings: the quotas of an account in a Region, as the service gives them to everyone,
and what is used of them.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api.function_concurrency import reserved_by
from hashrange.functions.api.operation import RestWire
from hashrange.functions.functions import Functions
from hashrange.limits import (
    CODE_STORAGE_BYTES_MAX,
    CODE_UNZIPPED_BYTES_MAX,
    CODE_ZIPPED_BYTES_MAX,
    CONCURRENT_EXECUTIONS_MAX,
)


class GetAccountSettingsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The request has no members."""


async def get_account_settings(
    functions: Functions, caller: Caller, request: GetAccountSettingsRequest
) -> Mapping[str, Any]:
    """Quotas and use. Declared functions are not counted."""
    stored = functions.stored.all_of(caller)
    return {
        "AccountLimit": {
            "TotalCodeSize": CODE_STORAGE_BYTES_MAX,
            "CodeSizeUnzipped": CODE_UNZIPPED_BYTES_MAX,
            "CodeSizeZipped": CODE_ZIPPED_BYTES_MAX,
            "ConcurrentExecutions": CONCURRENT_EXECUTIONS_MAX,
            "UnreservedConcurrentExecutions": CONCURRENT_EXECUTIONS_MAX - reserved_by(functions, caller),
        },
        "AccountUsage": {
            "TotalCodeSize": sum(one.code_size_bytes for one in stored),
            "FunctionCount": len(stored),
        },
    }


OPERATION = Operation(
    "GetAccountSettings",
    GetAccountSettingsRequest,
    get_account_settings,
    RestWire("GET", "/2016-08-19/account-settings"),
)
