"""What must be known of a function to run it? Its code, runtime, limits and variables, already checked."""

from collections.abc import Mapping
from typing import Literal

import msgspec

Language = Literal["python", "node"]


class Runnable(msgspec.Struct, frozen=True, kw_only=True):
    """One version of a function, ready to run."""

    name: str
    arn: str
    """The ARN that the handler's context shows."""
    version: str = "$LATEST"
    runtime: str
    """`python3.12`, `nodejs20.x`; `language` says what runs it."""
    handler: str
    """`module.function`, with folders before it: `src/app.handler`."""
    folder: str
    """Absolute path of the unpacked code."""
    watched: str | None = None
    """Code that is used in place: the folder or file whose changes start new environments;
    None if code never changes."""
    timeout_seconds: float = 3.0
    memory_mb: int = 128
    variables: Mapping[str, str] = {}
    """The function's own environment variables."""
    endpoints: Mapping[str, str] = {}
    """Variables by which SDKs reach the server; the function's own variables override them."""
    own_log_group: str | None = None
    """The log group that the function's configuration names."""
    region: str
    access_key_id: str
    secret_access_key: str
    session_token: str | None = None

    @property
    def log_group(self) -> str:
        """The log group that the service would write to."""
        return self.own_log_group or f"/aws/lambda/{self.name}"

    @property
    def language(self) -> Language:
        """What runs the handler."""
        return language_of(self.runtime)


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
