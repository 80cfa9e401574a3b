"""Which table does an ARN name, in requests on tags, exports and imports? Order of checks:
an ARN → complete → a table's → of the caller's account → the table exists.

Source: service behaviour, captures to October 2026.
"""

import re

from hashrange.errors import AccessDeniedException, ResourceNotFoundException, ValidationException
from hashrange.limits import TABLE_NAME_LENGTH_MAX, TABLE_NAME_LENGTH_MIN
from hashrange.messages import tables as say
from hashrange.operations.lookup import find_table, name_of_own_table
from hashrange.operations.operation import Scope
from hashrange.operations.shapes import NAME_PATTERN
from hashrange.tables.schema import Table

_ARN = re.compile(r"arn:[^:]+:[^:]+:[^:]+:[^:]+:.+", re.DOTALL).fullmatch
_NAME = f"{NAME_PATTERN.removesuffix('+')}{{{TABLE_NAME_LENGTH_MIN},{TABLE_NAME_LENGTH_MAX}}}"
_TABLE_ARN = re.compile(rf"arn:aws[a-z-]*:dynamodb:[a-z0-9-]+:([0-9]{{12}}):table/{_NAME}").fullmatch


def check_arn(scope: Scope, arn: str, operation: str) -> None:
    """Raise ValidationException for a text that is no ARN, or an ARN of something other than a table.

    Raises AccessDeniedException for an incomplete ARN or another account. The table need not exist. `operation`: the
    API operation's name, for the message.
    """
    if not arn.startswith("arn:"):
        raise ValidationException(say.ARN_START.format(arn=arn))
    if not _ARN(arn):
        raise _not_authorized(scope, arn, operation)
    match = _TABLE_ARN(arn)
    if match is None:
        raise ValidationException(say.ARN_NOT_TABLE.format(arn=arn))
    if match[1] != scope.account:
        raise _not_authorized(scope, arn, operation)


def require_own_arn(scope: Scope, arn: str, operation: str) -> None:
    """Raise AccessDeniedException unless the ARN of a table is of the caller's account and Region."""
    if name_of_own_table(scope, arn) == arn:
        raise _not_authorized(scope, arn, operation)


def _not_authorized(scope: Scope, arn: str, operation: str) -> AccessDeniedException:
    return AccessDeniedException(say.ARN_NOT_AUTHORIZED.format(account=scope.account, operation=operation, arn=arn))


async def find_tagged(scope: Scope, arn: str, not_found: str = say.ARN_NOT_FOUND) -> Table:
    """The table with this ARN; raises ResourceNotFoundException with the message `not_found` if there is none."""
    table = await find_table(scope, arn)
    if table is None:
        raise ResourceNotFoundException(not_found.format(arn=arn))
    return table
