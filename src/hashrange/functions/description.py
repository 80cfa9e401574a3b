"""What is a function? Its description: all that Lambda's API says about it. Ready to run, it has its code too.
It is stored as one document, and its zip as another.

No job makes a Pending function Active: its state follows from its deadlines and service time, as a table's does.
The zip's document is named by its SHA-256, so a description never meets the code of another one.
"""

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple
from uuid import uuid4

import msgspec

from hashrange.aws_services.operation import Caller
from hashrange.functions.names import FunctionKey

FunctionState = Literal["Pending", "Active"]
UpdateStatus = Literal["InProgress", "Successful"]

FUNCTION_PREFIX, CODE_PREFIX = "function/", "code/"
NO_TAGS: Mapping[str, str] = {}


class FunctionDescription(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A function as stored. Times are seconds since the epoch, in service time.

    Members from `vpc_config` to `kms_key_arn` are only returned: they change nothing of how a handler runs here.
    """

    account: str
    region: str
    name: str
    runtime: str
    handler: str
    role: str
    description: str = ""
    timeout_seconds: float = 3.0
    memory_mb: int = 128
    variables: Mapping[str, str] | None = None
    """Environment variables; None if the function never had any."""
    code_sha256: str
    """SHA-256 of the zip, in hexadecimal."""
    code_size_bytes: int
    modified_seconds: float
    """Time of the last change of code or configuration."""
    revision_id: str
    run_id: str
    """Another one after each change of what runs: environments of an earlier one are not used again."""
    active_at_seconds: float
    updated_until_seconds: float = 0.0
    vpc_config: Mapping[str, Any] | None = None
    """VpcConfig as in the request; the members up to `kms_key_arn` are kept as in the request too."""
    tracing_mode: str = "PassThrough"
    architectures: tuple[str, ...] = ("x86_64",)
    ephemeral_storage_mb: int = 512
    snap_start: str = "None"
    log_group: str | None = None
    """None: `/aws/lambda/` and the name."""
    kms_key_arn: str | None = None
    tags: Mapping[str, str] = NO_TAGS
    statements: tuple[Mapping[str, Any], ...] = ()
    """Statements of the resource-based policy, in the order in which they were added."""
    policy_revision_id: str = ""
    reserved_executions: int | None = None
    """Invocations that may run at the same time; 0 stops the function; None: as many as the account may have."""
    url: str | None = None
    """Of a declared function that runs elsewhere: where it answers."""
    code_in_place: str | None = None
    """Of a declared function that runs here: a folder, or `module:function`."""

    @property
    def key(self) -> FunctionKey:
        """What tells the function from all others."""
        return FunctionKey(self.account, self.region, self.name)

    @property
    def arn(self) -> str:
        """The ARN, without a qualifier."""
        return self.key.arn

    @property
    def shown_log_group(self) -> str:
        """The log group that the service would write to."""
        return self.log_group or f"/aws/lambda/{self.name}"

    @property
    def is_declared(self) -> bool:
        """True if the function stands in the server's settings: it is not stored, and cannot be changed."""
        return self.url is not None or self.code_in_place is not None


def code_document(description: FunctionDescription) -> str:
    """Name of the document that holds the function's zip."""
    return f"{CODE_PREFIX}{'/'.join(description.key)}/{description.code_sha256}"


def new_uuid() -> str:
    """A UUID for a new revision, request or mapping."""
    return str(uuid4())


def state_of_function(description: FunctionDescription, now_seconds: float) -> FunctionState:
    """The member State; the reply to CreateFunction shows Pending even without a delay."""
    return "Pending" if now_seconds < description.active_at_seconds else "Active"


def update_status_of(description: FunctionDescription, now_seconds: float) -> UpdateStatus:
    """The member LastUpdateStatus; the reply to an update shows InProgress even without a delay."""
    return "InProgress" if now_seconds < description.updated_until_seconds else "Successful"


def without_overlong_waits(
    description: FunctionDescription, now_seconds: float, delay_seconds: float
) -> FunctionDescription:
    """The function; a state that would last longer than `delay_seconds`,
    set before the clock was set back, ends now.
    """
    latest_seconds = now_seconds + delay_seconds
    if max(description.active_at_seconds, description.updated_until_seconds) <= latest_seconds:
        return description
    return msgspec.structs.replace(
        description,
        active_at_seconds=min(description.active_at_seconds, now_seconds),
        updated_until_seconds=min(description.updated_until_seconds, now_seconds),
    )


def shown_time(seconds: float) -> str:
    """LastModified: `2026-11-25T22:31:00.123+0000`."""
    time = dt.datetime.fromtimestamp(seconds, dt.UTC)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "+0000")


# --- ready to run ---------------------------------------------------------------------------------


class HandlerCredentials(NamedTuple):
    """The access key that a handler's SDK signs with."""

    access_key_id: str
    secret_access_key: str
    session_token: str | None = None


class FunctionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a server runs functions."""

    runs_code: bool = False
    """False: code is neither run nor taken; only functions that are URLs can be invoked."""
    credentials_of: Callable[[Caller], HandlerCredentials] = lambda caller: HandlerCredentials(
        caller.account, "hashrange"
    )
    """Account and Region → what handlers sign with there."""
    endpoints: Mapping[str, str] = {}
    """Variables by which handlers reach the server: `AWS_ENDPOINT_URL_…`, and `AWS_CA_BUNDLE` if
    they must trust its certificate."""
    certificate_path: str | None = None
    """File of the server's certificate; None without TLS."""
    serves_s3: bool = False
    """True if handlers find S3 at this server too."""
    state_delay_seconds: float = 0.0
    """How long a function stays Pending, and an update InProgress, in service time."""
    code_url: str | None = None
    """What the URLs of zips begin with; `Functions.linked_zip` reads the rest. None: zips cannot be fetched."""


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
