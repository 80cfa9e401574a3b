"""How are boto3 sessions made in milliseconds? With one loader of service models for all;
reading the models takes a session of its own 80 ms.
"""

from functools import cache
from typing import Any

import botocore.session
from botocore.loaders import Loader, create_loader

NO_PROFILE: dict[str, tuple[None, None, None, None]] = {"profile": (None, None, None, None)}
"""Session variables with which a session looks for no profile: the one that the environment names may not exist."""


def new_session(variables: dict[str, tuple[None, None, None, None]] | None = None) -> Any:
    """A new boto3 session. `variables`: botocore's session variables to override."""
    import boto3  # noqa: PLC0415 - an optional dependency, and slow to import

    session = botocore.session.Session(variables)
    session.register_component("data_loader", _loader_of(session.get_config_variable("data_path")))
    return boto3.Session(botocore_session=session)


@cache
def _loader_of(data_path: str | None) -> Loader:
    """The loader of the models in botocore's own folders and `data_path`; it keeps what it has read."""
    return create_loader(data_path)
