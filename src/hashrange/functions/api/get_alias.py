"""GetAlias: no function has an alias, as versions cannot be published."""

from typing import Annotated, NoReturn

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api import members
from hashrange.functions.api.operation import LambdaError, RestWire
from hashrange.functions.functions import Functions
from hashrange.messages import functions_api as say

ALIAS_PATTERN = "(?!^[0-9]+$)([a-zA-Z0-9-_]+)"


class GetAliasRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A function and the name of an alias."""

    FunctionName: members.FunctionNameText
    Name: Annotated[str, Meta(min_length=1, max_length=128, extra={"pattern": ALIAS_PATTERN})]


async def get_alias(functions: Functions, caller: Caller, request: GetAliasRequest) -> NoReturn:
    """The alias is not found; before that, the function may not be."""
    arn = functions.find(request.FunctionName, caller).arn
    raise LambdaError(404, "ResourceNotFoundException", say.alias_missing(f"{arn}:{request.Name}"))


OPERATION = Operation(
    "GetAlias", GetAliasRequest, get_alias, RestWire("GET", "/2015-03-31/functions/{FunctionName}/aliases/{Name}")
)
