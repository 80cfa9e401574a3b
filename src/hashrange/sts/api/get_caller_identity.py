"""GetCallerIdentity: whose access key a request is signed with."""

from typing import Any

import msgspec

from hashrange.aws_services.operation import FORM, Operation, SignedCaller
from hashrange.sts.sessions import Sessions


class GetCallerIdentityRequest(msgspec.Struct, frozen=True):
    """Request of GetCallerIdentity: it has no members."""


async def get_caller_identity(sessions: Sessions, caller: SignedCaller, _: GetCallerIdentityRequest) -> dict[str, Any]:
    """The caller's account, ARN and unique id: those of the role that the caller has assumed,
    or of the account itself.
    """
    identity = sessions.identity_of(caller)
    return {"Arn": identity.arn, "UserId": identity.user_id, "Account": identity.account}


OPERATION = Operation("GetCallerIdentity", GetCallerIdentityRequest, get_caller_identity, FORM)
