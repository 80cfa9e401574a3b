"""Who asks, and which sessions may be had? Everybody's identity follows from access key and session token;
whether roles of other accounts are assumed, from the credentials file.

Without a credentials file every role can be assumed, because every access key is let in.
With one, a key reaches only its own account.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from hashrange.aws_services.operation import SignedCaller
from hashrange.sts.session import (
    AssumedRole,
    RoleSession,
    account_of_session_key,
    is_signed,
    read_session_token,
    session_access_key,
    session_keys,
)


class IssuingKey(NamedTuple):
    """An access key of the credentials file, as far as sessions need it."""

    secret_key: str
    account: str


class Sessions:
    """Makes sessions and finds those of callers. Keeps nothing: every session is in its token."""

    def __init__(
        self,
        keys: Mapping[str, IssuingKey] | None,
        account_of_key: Callable[[str], str],
        service_time: Callable[[], float],
        wall_time: Callable[[], float],
    ) -> None:
        """`keys`: those of the credentials file; None: there is none.
        `account_of_key`: the account of any access key without a file.
        """
        self._keys = keys
        self._account_of_key = account_of_key
        self.service_time = service_time
        self.wall_time = wall_time

    @property
    def is_verifying(self) -> bool:
        """True if there is a credentials file, so that a caller has one of its keys."""
        return self._keys is not None

    def session_of(self, caller: SignedCaller) -> RoleSession | None:
        """The caller's session; None if the caller has a key of their own."""
        signer = caller.signer
        if signer is None or signer.session_token is None:
            return None
        found = read_session_token(signer.session_token)
        if found is None or found.session.access_key != signer.access_key:
            return None
        secret = self._secret_of(found.session.issuer)
        return found.session if secret is not None and is_signed(found, secret) else None

    def identity_of(self, caller: SignedCaller) -> dict[str, str]:
        """`Arn`, `UserId` and `Account` of the caller: of the session of a role, or else of the account itself,
        as there are no users.

        The account is the one whose tables the caller sees, as in their ARNs.
        """
        session, account = self.session_of(caller), caller.account
        if session is None or session.role is None:
            return {"Arn": f"arn:aws:iam::{account}:root", "UserId": account, "Account": account}
        user = assumed_role_user(session.role, account)
        return {"Arn": user["Arn"], "UserId": user["AssumedRoleId"], "Account": account}

    def account_of(self, access_key: str) -> str | None:
        """The account of an access key; None if it is none of the credentials file,
        and none of a session of its accounts.
        """
        if self._keys is None:
            return self._account_of_key(access_key)
        if access_key in self._keys:
            return self._keys[access_key].account
        account = account_of_session_key(access_key)
        return account if any(key.account == account for key in self._keys.values()) else None

    def own_account(self, caller: SignedCaller) -> str:
        """The account of the key that a caller has.
        With --shared-db, the caller's requests see the tables of another one.
        """
        session = self.session_of(caller)
        if session is not None:
            return session.account
        assert caller.signer is not None, "only signed requests have an account"
        account = self.account_of(caller.signer.access_key)
        assert account is not None, "the caller has been let in"
        return account

    def make(
        self, caller: SignedCaller, account: str, seconds: int, role: AssumedRole | None, token_bytes_min: int
    ) -> dict[str, object]:
        """`Credentials` of a reply: the keys of a new session in this account. It is signed by the key that the caller
        has, or that the caller's own session began with. `Expiration` is by wall time, with which clients compare it;
        the session itself ends by service time.
        """
        session = self.session_of(caller)
        signer = caller.signer
        issuer = ""
        if self._keys is not None:
            assert signer is not None, "only signed requests get sessions of a credentials file"
            issuer = signer.access_key if session is None else session.issuer
        secret = self._secret_of(issuer)
        assert secret is not None, "the caller has been let in"
        expires_seconds = float(int(self.service_time()) + seconds)
        made = RoleSession(session_access_key(account), account, issuer, expires_seconds, role)
        expiration = datetime.fromtimestamp(int(self.wall_time()) + seconds, UTC)
        return {**session_keys(made, secret, token_bytes_min), "Expiration": expiration}

    def _secret_of(self, issuer: str) -> str | None:
        if self._keys is None:
            return "" if not issuer else None
        key = self._keys.get(issuer)
        return None if key is None else key.secret_key


def assumed_role_user(role: AssumedRole, account: str) -> dict[str, str]:
    """`AssumedRoleUser` of a reply."""
    arn = f"arn:{role.partition}:sts::{account}:assumed-role/{role.name}/{role.session_name}"
    return {"AssumedRoleId": f"{role.id}:{role.session_name}", "Arn": arn}
