"""Which operations of the Security Token Service are served?
Those that clients ask for before they ask other services.
"""

from hashrange.aws_services.operation import ServiceApi, bound
from hashrange.sts.api import assume_role, own_keys
from hashrange.sts.api.members import ERRORS, word_sts_fault
from hashrange.sts.sessions import Sessions

STS_OPERATIONS = (*assume_role.OPERATIONS, *own_keys.OPERATIONS)
UNSERVED_NAMES = frozenset(
    {
        "AssumeRoleWithSAML",
        "AssumeRoot",
        "DecodeAuthorizationMessage",
        "GetDelegatedAccessToken",
        "GetFederationToken",
        "GetWebIdentityToken",
    }
)
"""The API's other operations. Source: service model of STS."""


def sts_api(sessions: Sessions) -> ServiceApi:
    """The API over these sessions."""
    return ServiceApi(
        name="AWS STS",
        signing_name="sts",
        target_prefix="",
        json_version="",
        version="2011-06-15",
        operations=bound(STS_OPERATIONS, sessions),
        unserved=UNSERVED_NAMES,
        word=word_sts_fault,
        errors=ERRORS,
        internal_error="InternalFailure",
        xml_namespace="https://sts.amazonaws.com/doc/2011-06-15/",
        needs_signer=True,
    )
