"""What do the handlers of functions sign their requests with? If there is a credentials file, with the first key of their account."""

from collections.abc import Callable, Mapping

from hashrange.functions.loaded import HandlerCredentials
from hashrange.server.credentials import Credential


def handler_credentials(credentials: Mapping[str, Credential] | None) -> Callable[[str], HandlerCredentials] | None:
    """Account → what its handlers sign with; None without a credentials file.

    The handlers of an account without a key in the file get one that is not let in.
    """
    if credentials is None:
        return None
    by_account = {one.account: one for one in reversed(list(credentials.values()))}

    def of_account(account: str) -> HandlerCredentials:
        one = by_account.get(account)
        if one is None:
            return HandlerCredentials(account, "none")
        return HandlerCredentials(one.access_key, one.secret_key, one.session_token)

    return of_account
