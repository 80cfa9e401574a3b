"""What must be known of a function to run it? Its description and its code, already checked,
and how its handler reaches the server.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import msgspec

from hashrange.functions.description import FunctionDescription

Language = Literal["python", "node"]


class HandlerCredentials(NamedTuple):
    """The access key that a handler's SDK signs with."""

    access_key_id: str
    secret_access_key: str
    session_token: str | None = None


class Runnable(msgspec.Struct, frozen=True, kw_only=True):
    """One version of a function, ready to run."""

    function: FunctionDescription
    folder: str
    """Absolute path of the unpacked code."""
    watched: str | None = None
    """Code that is used in place: the folder or file whose changes start new environments;
    None if code never changes."""
    endpoints: Mapping[str, str] = {}
    """Variables by which SDKs reach the server; the function's own variables override them."""
    credentials: HandlerCredentials

    @property
    def log_group(self) -> str:
        """The log group that the service would write to."""
        return self.function.log_group or f"/aws/lambda/{self.function.name}"


def language_of(runtime: str) -> Language:
    """What runs the handlers of a supported runtime."""
    return "python" if runtime.startswith("python") else "node"


def is_supported(runtime: str) -> bool:
    """True for `python3.8` and later, and for `nodejs18.x` and later; the program may still be missing."""
    if runtime.startswith("python3."):
        minor = runtime.removeprefix("python3.")
        return minor.isdecimal() and int(minor) >= 8
    number = runtime.removeprefix("nodejs").removesuffix(".x")
    return runtime == f"nodejs{number}.x" and number.isdecimal() and int(number) >= 18
