"""Where does a page of a list go on? What the lists with a NextToken share while nothing ever fills a second page."""

from hashrange.errors import ValidationException
from hashrange.messages import other_services as say

HEX_TOKEN_PATTERN = "([0-9a-f]{16})+"  # noqa: S105 - the form of a page token


def refuse_token(token: str | None) -> None:
    """Refuse any token: no page has given one."""
    if token is not None:
        raise ValidationException(say.NEXT_TOKEN_INVALID)
