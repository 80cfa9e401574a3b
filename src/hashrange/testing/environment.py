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

_lock = threading.RLock()
_blocks: set[object] = set()
"""One object for each open block."""
_variables: dict[str, tuple[str | None, str | None]] = {}
"""Name of an environment variable that blocks have set → its value, None if they have removed it,
and the value before the first of them."""
_owns_session = False
"""True if boto3 had no default session when one of the blocks began."""
_session: object = None
"""The default session of boto3 that blocks have made."""


@contextmanager
def configured_clients() -> Iterator[None]:
    """While the block runs, clients find credentials and a Region in the environment, unless others are configured.

    Credentials of files and of machines are not looked for, because some are fetched from the network. Blocks may
    overlap: what is added stays until the last of them ends.
    """
    block = object()
    try:
        with _lock:
            _blocks.add(block)
            _add_variables()
            _add_session()
        yield
    finally:
        with _lock:
            _blocks.discard(block)
            if not _blocks:
                _restore()


def _add_variables() -> None:
    for find in (_unknown_profiles, _missing_variables):
        for name, value in find().items():
            _, former = _variables.get(name, (None, os.environ.get(name)))
            _variables[name] = value, former
            _set_variable(name, value)


def _restore() -> None:
    """Restore the variables that blocks have set, unless the tested code has changed them, and drop the default session
    that they have made. One that the tested code has made stays if it cannot have read variables of the blocks.
    """
    global _owns_session, _session
    for name, (value, former) in _variables.items():
        if os.environ.get(name) == value:
            _set_variable(name, former)
    if _owns_session and (_variables or _default_session() is _session):
        _set_default_session(None)
    _variables.clear()
    _owns_session, _session = False, None


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


def _add_session() -> None:
    """Give boto3 a default session that is made quickly, and is forgotten after the blocks."""
    global _owns_session, _session
    if _default_session() is None:
        _owns_session = True
        if "boto3" in sys.modules:
            _session = new_session()
            _set_default_session(_session)


def _default_session() -> object:
    """The session behind `boto3.client`, if boto3 is in use and has made one."""
    return getattr(sys.modules.get("boto3"), "DEFAULT_SESSION", None)


def _set_default_session(session: object) -> None:
    """Let boto3 use this session; None: let it make another one."""
    boto3: Any = sys.modules.get("boto3")
    if boto3 is not None:
        boto3.DEFAULT_SESSION = session
