"""GetAccessKeyInfo: the account of an access key."""

from typing import Any

import msgspec

from hashrange.aws_services.operation import FORM, Operation, SignedCaller
from hashrange.messages.sts import NO_SUCH_KEY
from hashrange.sts.api.members import ACCESS_KEY_RULE, Violations, refuse_sts
from hashrange.sts.sessions import Sessions


class GetAccessKeyInfoRequest(msgspec.Struct, frozen=True):
    """Request of GetAccessKeyInfo."""

    AccessKeyId: str | None = None


async def get_access_key_info(sessions: Sessions, _: SignedCaller, request: GetAccessKeyInfoRequest) -> dict[str, Any]:
    """Checks the key's form, then that it is known. Raises ServiceError."""
    found = Violations()
    found.check_text("accessKeyId", request.AccessKeyId, ACCESS_KEY_RULE, is_required=True)
    found.refuse_any()
    assert request.AccessKeyId is not None
    account = sessions.account_of(request.AccessKeyId)
    if account is None:
        refuse_sts(NO_SUCH_KEY.format(key=request.AccessKeyId))
    return {"Account": account}


OPERATION = Operation("GetAccessKeyInfo", GetAccessKeyInfoRequest, get_access_key_info, FORM)
