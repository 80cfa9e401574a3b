"""Which NextToken does a List operation accept whose list is always empty or short? None: it never returns one."""

from hashrange.errors import ValidationException
from hashrange.messages import other_services as say

HEX_TOKEN_PATTERN = "([0-9a-f]{16})+"  # noqa: S105 - the form of a page token


def refuse_token(token: str | None) -> None:
    """Raise ValidationException for any token: no page ever returned one."""
    if token is not None:
        raise ValidationException(say.NEXT_TOKEN_INVALID)
