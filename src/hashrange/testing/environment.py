"""Which environment variables make AWS clients call a database? Its endpoint, a Region and credentials; the database accepts any Region and credentials."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import botocore.session

from hashrange.testing.boto3_sessions import new_session
from hashrange.testing.database import CREDENTIALS

KEY_VARIABLES = {
    "AWS_ACCESS_KEY_ID": CREDENTIALS["aws_access_key_id"],
    "AWS_SECRET_ACCESS_KEY": CREDENTIALS["aws_secret_access_key"],
}
MISLEADING_VARIABLES = (
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_SESSION_TOKEN",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
)
"""Variables that lead SDKs to other credentials or endpoints than those of `endpoint_variables`."""


def endpoint_variables(endpoint: str) -> dict[str, str]:
    """Variables with which a program in any language calls the database at this address."""
    return KEY_VARIABLES | {
        "AWS_ENDPOINT_URL_DYNAMODB": endpoint,
        "AWS_ENDPOINT_URL_DYNAMODB_STREAMS": endpoint,
        "AWS_REGION": CREDENTIALS["region_name"],
        "AWS_DEFAULT_REGION": CREDENTIALS["region_name"],
    }


@contextmanager
def configured_clients() -> Iterator[None]:
    """While the block runs, clients find credentials and a Region in the environment, unless others are configured.

    Credentials of files and of machines are not looked for, because some are fetched from the network.
    """
    added = _missing_variables()
    former = {name: os.environ.get(name) for name in added}
    had_session = _default_session() is not None
    os.environ.update(added)
    session = None
    if not had_session and "boto3" in sys.modules:
        session = new_session()
        _set_default_session(session)
    try:
        yield
    finally:
        for name, value in former.items():
            if os.environ.get(name) == added[name]:
                _set_variable(name, value)
        if not had_session and (added or _default_session() is session):
            _set_default_session(None)


def _missing_variables() -> dict[str, str]:
    added = {} if os.environ.get("AWS_ACCESS_KEY_ID") else dict(KEY_VARIABLES)
    session = botocore.session.Session(include_builtin_handlers=False)
    if session.get_config_variable("region") is None:
        added["AWS_DEFAULT_REGION"] = os.environ.get("AWS_REGION") or CREDENTIALS["region_name"]
    return added


def _set_variable(name: str, value: str | None) -> None:
    if value is None:
        del os.environ[name]
    else:
        os.environ[name] = value


def _default_session() -> object:
    """The session behind `boto3.client`, if boto3 is in use and has made one."""
    return getattr(sys.modules.get("boto3"), "DEFAULT_SESSION", None)


def _set_default_session(session: object) -> None:
    """Let boto3 use this session; None: let it make another one, because this one keeps the credentials that it has read."""
    boto3: Any = sys.modules.get("boto3")
    if boto3 is not None:
        boto3.DEFAULT_SESSION = session
