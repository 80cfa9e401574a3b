"""GetSessionToken: temporary keys for the caller's own account."""

from typing import Any

import msgspec

from hashrange.aws_services.operation import FORM, Operation, ServiceError, SignedCaller
from hashrange.messages.sts import SESSION_OF_SESSION
from hashrange.sts.api.members import SERIAL_NUMBER_RULE, TOKEN_CODE_RULE, Violations
from hashrange.sts.limits import SESSION_SECONDS_MIN, SESSION_TOKEN_SECONDS_DEFAULT, SESSION_TOKEN_SECONDS_MAX
from hashrange.sts.sessions import Sessions, credentials_of


class GetSessionTokenRequest(msgspec.Struct, frozen=True):
    """Request of GetSessionToken."""

    DurationSeconds: int | None = None
    SerialNumber: str | None = None
    TokenCode: str | None = None
    MinimumSessionTokenSize: int | None = None


async def get_session_token(
    sessions: Sessions, caller: SignedCaller, request: GetSessionTokenRequest
) -> dict[str, Any]:
    """Checks the members, then that the caller has no session token. Raises ServiceError.

    The code of a device is checked for its form only: there are no devices.
    """
    found = Violations()
    found.check_number("durationSeconds", request.DurationSeconds, SESSION_SECONDS_MIN, SESSION_TOKEN_SECONDS_MAX)
    found.check_text("serialNumber", request.SerialNumber, SERIAL_NUMBER_RULE)
    found.check_text("tokenCode", request.TokenCode, TOKEN_CODE_RULE)
    found.check_token_size(request.MinimumSessionTokenSize)
    found.refuse_any()
    if caller.signer is not None and caller.signer.session_token is not None:
        raise ServiceError("AccessDenied", SESSION_OF_SESSION)
    seconds = request.DurationSeconds or SESSION_TOKEN_SECONDS_DEFAULT
    made = sessions.make(caller, sessions.own_account(caller), seconds, None, request.MinimumSessionTokenSize or 0)
    return {"Credentials": credentials_of(made)}


OPERATION = Operation("GetSessionToken", GetSessionTokenRequest, get_session_token, FORM)
