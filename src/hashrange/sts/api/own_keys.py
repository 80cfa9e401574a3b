"""The operations on access keys that need no role: GetCallerIdentity, GetAccessKeyInfo, GetSessionToken."""

from typing import Any

import msgspec

from hashrange.aws_services.operation import FORM, Operation, ServiceError, SignedCaller
from hashrange.messages.sts import NO_SUCH_KEY, SESSION_OF_SESSION
from hashrange.sts.api.members import ACCESS_KEY_RULE, SERIAL_NUMBER_RULE, TOKEN_CODE_RULE, Violations, refuse_sts
from hashrange.sts.limits import SESSION_SECONDS_MIN, SESSION_TOKEN_SECONDS_DEFAULT, SESSION_TOKEN_SECONDS_MAX
from hashrange.sts.sessions import Sessions


class GetCallerIdentityRequest(msgspec.Struct, frozen=True):
    """Request of GetCallerIdentity: it has no members."""


async def get_caller_identity(sessions: Sessions, caller: SignedCaller, _: GetCallerIdentityRequest) -> dict[str, Any]:
    """GetCallerIdentity: whose access key a request is signed with.

    The caller's account, ARN and unique id: those of the role that the caller has assumed,
    or of the account itself.
    """
    return sessions.identity_of(caller)


class GetAccessKeyInfoRequest(msgspec.Struct, frozen=True):
    """Request of GetAccessKeyInfo."""

    AccessKeyId: str | None = None


async def get_access_key_info(sessions: Sessions, _: SignedCaller, request: GetAccessKeyInfoRequest) -> dict[str, Any]:
    """GetAccessKeyInfo: the account of an access key.

    Checks the key's form, then that it is known. Raises ServiceError.
    """
    found = Violations()
    found.check_text("accessKeyId", request.AccessKeyId, ACCESS_KEY_RULE, is_required=True)
    found.refuse_any()
    assert request.AccessKeyId is not None
    account = sessions.account_of(request.AccessKeyId)
    if account is None:
        refuse_sts(NO_SUCH_KEY.format(key=request.AccessKeyId))
    return {"Account": account}


class GetSessionTokenRequest(msgspec.Struct, frozen=True):
    """Request of GetSessionToken."""

    DurationSeconds: int | None = None
    SerialNumber: str | None = None
    TokenCode: str | None = None
    MinimumSessionTokenSize: int | None = None


async def get_session_token(
    sessions: Sessions, caller: SignedCaller, request: GetSessionTokenRequest
) -> dict[str, Any]:
    """GetSessionToken: temporary keys for the caller's own account.

    Checks the members, then that the caller has no session token. Raises ServiceError.

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
    account, token_bytes_min = sessions.own_account(caller), request.MinimumSessionTokenSize or 0
    return {"Credentials": sessions.make(caller, account, seconds, None, token_bytes_min)}


OPERATIONS = (
    Operation("GetCallerIdentity", GetCallerIdentityRequest, get_caller_identity, FORM),
    Operation("GetAccessKeyInfo", GetAccessKeyInfoRequest, get_access_key_info, FORM),
    Operation("GetSessionToken", GetSessionTokenRequest, get_session_token, FORM),
)
