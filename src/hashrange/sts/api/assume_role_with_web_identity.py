"""AssumeRoleWithWebIdentity: temporary keys for a role, asked for without a signature,
with the token of an identity provider.

The token is read, but its signature cannot be verified without the provider.
So this is served only where every access key is let in.
"""

import base64
import binascii
from typing import Any

import msgspec

from hashrange.aws_services.operation import FormWire, Operation, ServiceError, SignedCaller
from hashrange.messages import sts as sentences
from hashrange.sts.api.members import (
    ARN_RULE,
    IDENTITY_TOKEN_RULE,
    NAME_RULE,
    PROVIDER_RULE,
    PolicyArnMember,
    Violations,
    check_policies,
    packed_percent,
    role_of,
)
from hashrange.sts.limits import ROLE_SECONDS_DEFAULT, ROLE_SECONDS_MAX, SESSION_SECONDS_MIN
from hashrange.sts.sessions import Sessions, assumed_role_user, credentials_of


class AssumeRoleWithWebIdentityRequest(msgspec.Struct, frozen=True):
    """Request of AssumeRoleWithWebIdentity."""

    RoleArn: str | None = None
    RoleSessionName: str | None = None
    WebIdentityToken: str | None = None
    ProviderId: str | None = None
    PolicyArns: list[PolicyArnMember] | None = None
    Policy: str | None = None
    DurationSeconds: int | None = None
    MinimumSessionTokenSize: int | None = None


class _Claims(msgspec.Struct, frozen=True):
    """What an identity token says."""

    iss: str | None = None
    sub: str | None = None
    aud: str | list[str] | None = None
    exp: float | None = None


async def assume_role_with_web_identity(
    sessions: Sessions, caller: SignedCaller, request: AssumeRoleWithWebIdentityRequest
) -> dict[str, Any]:
    """Checks the constraints of all members, that there is no credentials file, the role's ARN, policies,
    then the token. Raises ServiceError.
    """
    _check_members(request)
    assert request.RoleArn is not None
    assert request.RoleSessionName is not None
    assert request.WebIdentityToken is not None
    if sessions.is_verifying:
        raise ServiceError("AccessDenied", sentences.IDENTITY_UNVERIFIED)
    role = role_of(request.RoleArn)
    percent = packed_percent(request.Policy, request.PolicyArns)
    claims = _claims_of(request.WebIdentityToken, sessions.wall_time())
    assumed = role.assumed(request.RoleSessionName)
    seconds = request.DurationSeconds or ROLE_SECONDS_DEFAULT
    made = sessions.make(caller, role.account, seconds, assumed, request.MinimumSessionTokenSize or 0)
    return {
        "Credentials": credentials_of(made),
        "SubjectFromWebIdentityToken": claims.sub,
        "AssumedRoleUser": assumed_role_user(assumed, role.account),
        "PackedPolicySize": percent,
        "Provider": claims.iss,
        "Audience": claims.aud if isinstance(claims.aud, str) else next(iter(claims.aud or ()), None),
    }


def _check_members(request: AssumeRoleWithWebIdentityRequest) -> None:
    found = Violations()
    found.check_text("roleArn", request.RoleArn, ARN_RULE, is_required=True)
    found.check_text("roleSessionName", request.RoleSessionName, NAME_RULE, is_required=True)
    found.check_text("webIdentityToken", request.WebIdentityToken, IDENTITY_TOKEN_RULE, is_required=True)
    found.check_text("providerId", request.ProviderId, PROVIDER_RULE)
    check_policies(found, request.Policy, request.PolicyArns)
    found.check_number("durationSeconds", request.DurationSeconds, SESSION_SECONDS_MIN, ROLE_SECONDS_MAX)
    found.check_token_size(request.MinimumSessionTokenSize)
    found.refuse_any()


def _claims_of(token: str, now_seconds: float) -> _Claims:
    """The claims of a JSON web token that has not expired. Raises ServiceError."""
    parts = token.split(".")
    try:
        if len(parts) != 3:
            raise ValueError("a token has three parts")
        header, payload = map(_decoded, parts[:2])
        msgspec.json.decode(header, type=dict)
        claims = msgspec.json.decode(payload, type=_Claims)
    except (ValueError, binascii.Error, msgspec.MsgspecError, RecursionError):
        raise ServiceError("InvalidIdentityToken", sentences.NO_JWT) from None
    for claim in ("iss", "sub", "exp"):
        if getattr(claims, claim) is None:
            raise ServiceError("InvalidIdentityToken", sentences.CLAIM_MISSING.format(claim=claim))
    assert claims.exp is not None
    if now_seconds >= claims.exp:
        text = sentences.IDENTITY_EXPIRED.format(now=int(now_seconds), expires=int(claims.exp))
        raise ServiceError("ExpiredIdentityToken", text)
    return claims


def _decoded(part: str) -> bytes:
    return base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)


OPERATION = Operation(
    "AssumeRoleWithWebIdentity",
    AssumeRoleWithWebIdentityRequest,
    assume_role_with_web_identity,
    FormWire(is_signed=False),
)
