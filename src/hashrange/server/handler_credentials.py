"""What do the handlers of functions sign their requests with? If there is a credentials file, with a key of their
account that their Region accepts.
"""

from collections.abc import Callable, Mapping

from hashrange.aws_services.operation import Caller
from hashrange.functions.loaded import HandlerCredentials
from hashrange.server.credentials import Credential


def handler_credentials(credentials: Mapping[str, Credential] | None) -> Callable[[Caller], HandlerCredentials] | None:
    """Account and Region → what handlers sign with there; None without a credentials file.

    Of several keys, it is the first that never expires, or else the one that expires last.
    The handlers of an account without a key for their Region get one that is not let in.
    """
    if credentials is None:
        return None

    def of_caller(caller: Caller) -> HandlerCredentials:
        keys = [
            one
            for one in credentials.values()
            if one.account == caller.account and (one.regions is None or caller.region in one.regions)
        ]
        if not keys:
            return HandlerCredentials(caller.account, "none")
        one = max(keys, key=_expires_seconds)
        return HandlerCredentials(one.access_key, one.secret_key, one.session_token)

    return of_caller


def _expires_seconds(one: Credential) -> float:
    return float("inf") if one.expires_seconds is None else one.expires_seconds
