"""The operations that give temporary keys for a role, and so for the role's account: AssumeRole, and
AssumeRoleWithWebIdentity, which is asked without a signature, with the token of an identity provider.

The token is read, but its signature cannot be verified without the provider. So AssumeRoleWithWebIdentity is served
only where every access key is let in.
"""

import base64
from collections.abc import Sequence
from typing import Any

import msgspec

from hashrange.aws_services.operation import FORM, FormWire, Operation, ServiceError, SignedCaller
from hashrange.aws_services.tagging import is_reserved_tag
from hashrange.messages import sts as sentences
from hashrange.sts import limits
from hashrange.sts.api import members
from hashrange.sts.session import RoleSession
from hashrange.sts.sessions import Sessions, assumed_role_user


class SessionTagMember(msgspec.Struct, frozen=True):
    """A tag of a session."""

    Key: str | None = None
    Value: str | None = None


class ProvidedContextMember(msgspec.Struct, frozen=True):
    """A context of an identity center, of which there is none."""

    ProviderArn: str | None = None
    ContextAssertion: str | None = None


class _RoleMembers(msgspec.Struct, frozen=True):
    """The members that both requests have."""

    RoleArn: str | None = None
    RoleSessionName: str | None = None
    PolicyArns: list[members.PolicyArnMember] | None = None
    Policy: str | None = None
    DurationSeconds: int | None = None
    MinimumSessionTokenSize: int | None = None


class AssumeRoleRequest(_RoleMembers, frozen=True):
    """Request of AssumeRole."""

    Tags: list[SessionTagMember] | None = None
    TransitiveTagKeys: list[str] | None = None
    ExternalId: str | None = None
    SerialNumber: str | None = None
    TokenCode: str | None = None
    SourceIdentity: str | None = None
    ProvidedContexts: list[ProvidedContextMember] | None = None


async def assume_role(sessions: Sessions, caller: SignedCaller, request: AssumeRoleRequest) -> dict[str, Any]:
    """AssumeRole: temporary keys, for a request that is signed.

    Checks the constraints of all members, the role's ARN, tags, policies, then whether this caller may have the
    session. Raises ServiceError.

    There is no IAM: no role need exist, external id, policies and tags change nothing, and the code of a device is
    checked for its form only.
    """
    role_arn, session_name = _checked_members(request)
    account, role = members.role_of(role_arn, session_name)
    tags = _checked_tags(request.Tags or (), request.TransitiveTagKeys or ())
    percent = members.packed_percent(request.Policy, request.PolicyArns, tags)
    if request.ProvidedContexts:
        members.refuse_sts(sentences.NO_CONTEXTS)
    if sessions.is_verifying and account != sessions.own_account(caller):
        _refuse_action(sessions, caller, "sts:AssumeRole", role_arn)
    session = sessions.session_of(caller)
    is_chained = session is not None and session.role is not None
    seconds = request.DurationSeconds or limits.ROLE_SECONDS_DEFAULT
    if is_chained and seconds > limits.CHAINED_SECONDS_MAX:
        members.refuse_sts(sentences.CHAINED_TOO_LONG)
    source_identity = _source_identity(sessions, caller, session, request)
    role = msgspec.structs.replace(role, source_identity=source_identity)
    return {
        "Credentials": sessions.make(caller, account, seconds, role, request.MinimumSessionTokenSize or 0),
        "AssumedRoleUser": assumed_role_user(role, account),
        "PackedPolicySize": percent,
        "SourceIdentity": source_identity,
    }


def _checked_tags(given: Sequence[SessionTagMember], transitive: Sequence[str]) -> list[tuple[str, str]]:
    """The tags. Raises ServiceError for a key that is given twice or reserved,
    and for a transitive key that no tag has.
    """
    tags = [(tag.Key or "", tag.Value or "") for tag in given]
    keys = {key.lower() for key, _ in tags}
    if len(keys) != len(tags):
        members.refuse_sts(sentences.TAG_TWICE)
    for key, _ in tags:
        if is_reserved_tag(key):
            members.refuse_sts(sentences.TAG_RESERVED.format(key=key))
    for key in transitive:
        if key.lower() not in keys:
            members.refuse_sts(sentences.TAG_NOT_PASSED.format(key=key))
    return tags


def _source_identity(
    sessions: Sessions, caller: SignedCaller, session: RoleSession | None, request: AssumeRoleRequest
) -> str | None:
    """The source identity of the new session: once a session has one, the sessions that follow from it
    have it too. Raises ServiceError.
    """
    inherited = None if session is None or session.role is None else session.role.source_identity
    if inherited is not None and request.SourceIdentity not in (None, inherited):
        assert request.RoleArn is not None
        _refuse_action(sessions, caller, "sts:SetSourceIdentity", request.RoleArn)
    return request.SourceIdentity if inherited is None else inherited


def _refuse_action(sessions: Sessions, caller: SignedCaller, action: str, resource: str) -> None:
    arn = sessions.identity_of(caller)["Arn"]
    raise ServiceError("AccessDenied", sentences.NOT_AUTHORIZED.format(arn=arn, action=action, resource=resource))


# --- with a web identity --------------------------------------------------------------------------


class AssumeRoleWithWebIdentityRequest(_RoleMembers, frozen=True):
    """Request of AssumeRoleWithWebIdentity."""

    WebIdentityToken: str | None = None
    ProviderId: str | None = None


class _Claims(msgspec.Struct, frozen=True):
    """What an identity token says."""

    iss: str | None = None
    sub: str | None = None
    aud: str | list[str] | None = None
    exp: float | None = None


async def assume_role_with_web_identity(
    sessions: Sessions, caller: SignedCaller, request: AssumeRoleWithWebIdentityRequest
) -> dict[str, Any]:
    """AssumeRoleWithWebIdentity: temporary keys, for whoever has the token of an identity provider.

    Checks the constraints of all members, that there is no credentials file, the role's ARN, policies,
    then the token. Raises ServiceError.
    """
    role_arn, session_name = _checked_members(request)
    assert request.WebIdentityToken is not None
    if sessions.is_verifying:
        raise ServiceError("AccessDenied", sentences.IDENTITY_UNVERIFIED)
    account, role = members.role_of(role_arn, session_name)
    percent = members.packed_percent(request.Policy, request.PolicyArns)
    claims = _claims_of(request.WebIdentityToken, sessions.wall_time())
    seconds = request.DurationSeconds or limits.ROLE_SECONDS_DEFAULT
    return {
        "Credentials": sessions.make(caller, account, seconds, role, request.MinimumSessionTokenSize or 0),
        "SubjectFromWebIdentityToken": claims.sub,
        "AssumedRoleUser": assumed_role_user(role, account),
        "PackedPolicySize": percent,
        "Provider": claims.iss,
        "Audience": claims.aud if isinstance(claims.aud, str) else next(iter(claims.aud or ()), None),
    }


def _claims_of(token: str, now_seconds: float) -> _Claims:
    """The claims of a JSON web token that has not expired. Raises ServiceError."""
    parts = token.split(".")
    try:
        if len(parts) != 3:
            raise ValueError("a token has three parts")
        header, payload = map(_decoded, parts[:2])
        msgspec.json.decode(header, type=dict)
        claims = msgspec.json.decode(payload, type=_Claims)
    except (ValueError, RecursionError):  # the errors of Base64 and of msgspec are ValueErrors
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


# --- constraints ----------------------------------------------------------------------------------


def _checked_members(request: AssumeRoleRequest | AssumeRoleWithWebIdentityRequest) -> tuple[str, str]:
    """The ARN of the role, and the session's name. Raises ServiceError, with all constraints that are broken."""
    found = members.Violations()
    found.check_text("roleArn", request.RoleArn, members.ARN_RULE, is_required=True)
    found.check_text("roleSessionName", request.RoleSessionName, members.NAME_RULE, is_required=True)
    if isinstance(request, AssumeRoleWithWebIdentityRequest):
        found.check_text("webIdentityToken", request.WebIdentityToken, members.IDENTITY_TOKEN_RULE, is_required=True)
        found.check_text("providerId", request.ProviderId, members.PROVIDER_RULE)
    members.check_policies(found, request.Policy, request.PolicyArns)
    found.check_number("durationSeconds", request.DurationSeconds, limits.SESSION_SECONDS_MIN, limits.ROLE_SECONDS_MAX)
    if isinstance(request, AssumeRoleRequest):
        _check_tags_and_texts(found, request)
    found.check_token_size(request.MinimumSessionTokenSize)
    found.refuse_any()
    assert request.RoleArn is not None
    assert request.RoleSessionName is not None
    return request.RoleArn, request.RoleSessionName


def _check_tags_and_texts(found: members.Violations, request: AssumeRoleRequest) -> None:
    found.check_count("tags", request.Tags, limits.SESSION_TAGS_MAX)
    for place, tag in enumerate((request.Tags or ())[: limits.SESSION_TAGS_MAX], 1):
        found.check_text(f"tags.{place}.member.key", tag.Key, members.TAG_KEY_RULE, is_required=True)
        found.check_text(f"tags.{place}.member.value", tag.Value, members.TAG_VALUE_RULE, is_required=True)
    found.check_count("transitiveTagKeys", request.TransitiveTagKeys, limits.SESSION_TAGS_MAX)
    for place, key in enumerate((request.TransitiveTagKeys or ())[: limits.SESSION_TAGS_MAX], 1):
        found.check_text(f"transitiveTagKeys.{place}.member", key, members.TAG_KEY_RULE)
    found.check_text("externalId", request.ExternalId, members.EXTERNAL_ID_RULE)
    found.check_text("serialNumber", request.SerialNumber, members.SERIAL_NUMBER_RULE)
    found.check_text("tokenCode", request.TokenCode, members.TOKEN_CODE_RULE)
    found.check_text("sourceIdentity", request.SourceIdentity, members.NAME_RULE)
    found.check_count("providedContexts", request.ProvidedContexts, limits.CONTEXTS_MAX)


OPERATIONS = (
    Operation("AssumeRole", AssumeRoleRequest, assume_role, FORM),
    Operation(
        "AssumeRoleWithWebIdentity",
        AssumeRoleWithWebIdentityRequest,
        assume_role_with_web_identity,
        FormWire(is_signed=False),
    ),
)
