"""For which access keys does STS make sessions? For those of the credentials file or,
without one, for every access key.
"""

from hashrange.clock import Clock
from hashrange.server.access import Access
from hashrange.server.credentials import account_of_key
from hashrange.sts.sessions import IssuingKey, Sessions


def sessions_for(access: Access, clock: Clock) -> Sessions:
    """The sessions of those whom `access` lets in."""
    keys = access.credentials
    issuing = None if keys is None else {name: IssuingKey(one.secret_key, one.account) for name, one in keys.items()}
    return Sessions(issuing, account_of_key, clock.service_time, access.wall_time)
