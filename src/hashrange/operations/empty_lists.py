"""Which NextToken is valid for a List operation whose list is always empty?
None: no reply ever contains a NextToken.
"""

from hashrange.errors import ValidationException
from hashrange.messages import other_services as say

HEX_TOKEN_PATTERN = "([0-9a-f]{16})+"  # noqa: S105 - the form of a page token


def refuse_token(token: str | None) -> None:
    """Raise ValidationException unless `token` is None: no reply ever contained a token."""
    if token is not None:
        raise ValidationException(say.NEXT_TOKEN_INVALID)
