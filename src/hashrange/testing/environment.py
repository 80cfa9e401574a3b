"""What do clients that know nothing of a database find in the environment while it answers them? Credentials,
a Region, and no profile that does not exist.
"""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import botocore.session

from hashrange.testing.botocore_transport import new_session
from hashrange.testing.database import CREDENTIALS, KEY_VARIABLES, PROFILE_VARIABLES


class _Variable:
    """An environment variable that blocks have set, or removed (`value` None)."""

    def __init__(self, value: str | None, former: str | None, user: object) -> None:
        self.value = value
        self.former = former
        self.users = {user}
        """The blocks that need it; the former value returns when the last of them has ended."""


class _Session:
    """The default session of boto3 while blocks are open. There was none before."""

    def __init__(self, user: object) -> None:
        self.value: object = None
        self.users = {user}
        self.has_variables = False
        """True if a session may have read variables that blocks have added."""


_lock = threading.RLock()
_variables: dict[str, _Variable] = {}
_session: _Session | None = None
"""None while there are no blocks, or boto3 had a session before the first of them."""


@contextmanager
def configured_clients() -> Iterator[None]:
    """While the block runs, clients find credentials and a Region in the environment, unless others are configured.

    Credentials of files and of machines are not looked for, because some are fetched from the network. Blocks may
    overlap: what is added stays until the last of them ends.
    """
    user = object()
    try:
        with _lock:
            _add_variables(user)
            _add_session(user)
        yield
    finally:
        with _lock:
            _remove_variables(user)
            _remove_session(user)


def _add_variables(user: object) -> None:
    for name, added in _variables.items():
        if os.environ.get(name) == added.value:
            added.users.add(user)
    for find in (_unknown_profiles, _missing_variables):
        for name, value in find().items():
            added = _variables.setdefault(name, _Variable(value, os.environ.get(name), user))
            added.users.add(user)
            added.value = value
            _set_variable(name, value)


def _remove_variables(user: object) -> None:
    """Restore the variables that no other block needs."""
    for name, added in list(_variables.items()):
        added.users.discard(user)
        if not added.users:
            if os.environ.get(name) == added.value:
                _set_variable(name, added.former)
            del _variables[name]


def _unknown_profiles() -> dict[str, None]:
    """The variables that name a profile which is not configured: every session would raise ProfileNotFound."""
    named = {name: os.environ[name] for name in PROFILE_VARIABLES if name in os.environ}
    known = botocore.session.Session(include_builtin_handlers=False).available_profiles if named else []
    return dict.fromkeys(name for name, profile in named.items() if profile not in known)


def _missing_variables() -> dict[str, str]:
    added = {} if os.environ.get("AWS_ACCESS_KEY_ID") else dict(KEY_VARIABLES)
    session = botocore.session.Session(include_builtin_handlers=False)
    if session.get_config_variable("region") is None:
        added["AWS_DEFAULT_REGION"] = os.environ.get("AWS_REGION") or CREDENTIALS["region_name"]
    return added


def _set_variable(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def _add_session(user: object) -> None:
    """Give boto3 a default session that is made quickly, and is forgotten after the blocks."""
    global _session
    if _session is None and _default_session() is None:
        _session = _Session(user)
    if _session is not None:
        _session.users.add(user)
        _session.has_variables |= bool(_variables)
        if _default_session() is None and "boto3" in sys.modules:
            _session.value = new_session()
            _set_default_session(_session.value)


def _remove_session(user: object) -> None:
    """Once no block needs boto3's default session that blocks have made, drop it.
    One that the tested code has made stays if it works without blocks.
    """
    global _session
    if _session is None:
        return
    _session.users.discard(user)
    if not _session.users:
        if _session.has_variables or _default_session() is _session.value:
            _set_default_session(None)
        _session = None


def _default_session() -> object:
    """The session behind `boto3.client`, if boto3 is in use and has made one."""
    return getattr(sys.modules.get("boto3"), "DEFAULT_SESSION", None)


def _set_default_session(session: object) -> None:
    """Let boto3 use this session; None: let it make another one."""
    boto3: Any = sys.modules.get("boto3")
    if boto3 is not None:
        boto3.DEFAULT_SESSION = session
