"""Where does a command of the toolkit send its requests? To 127.0.0.1:8000, unless an option or the environment names
another endpoint. AWS is reached with `--aws` or `--profile` only.

| given | endpoint |
|---|---|
| `--endpoint URL` | this one |
| `--aws` | AWS, whatever the environment names, except an endpoint of AWS's |
| AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL | this one |
| `--profile NAME` | the endpoint that the profile names, else AWS |
| nothing | http://127.0.0.1:8000 |

An endpoint of AWS's (of a VPC, for example) is refused without `--aws` or `--profile`. Requests go through boto3, which
is in the extra `toolkit` and loaded with the first client.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from hashrange.aws_services.host_endings import AWS_ENDINGS
from hashrange.bounded_replies import EndlessReply
from hashrange.messages.installing import how_to_install
from hashrange.terminal import without_user
from hashrange.toolkit.bounded_clients import bound_replies
from hashrange.toolkit.failures import (
    ENDLESS,
    NO_DYNAMODB,
    UNREADABLE,
    ToolkitFailure,
    UsageFault,
    toolkit_failure,
)
from hashrange.toolkit.replies import UNREADABLE_ERRORS, checked_reply, unreadable_reason

LOCAL_ENDPOINT = "http://127.0.0.1:8000"
LOCAL_REGION = "us-east-1"
LOCAL_KEY = "hashrange"
"""Both keys of requests to a server that is not AWS's, if the environment has none. Such servers accept any."""
ENDPOINT_SOURCES = ("AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL")
REGION_SOURCES = ("AWS_REGION", "AWS_DEFAULT_REGION")
KEY_SOURCES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
TRIES_MAX = 8
"""Times that a request is sent which the server throttles or fails to answer."""
CONNECTIONS_USUAL = 10
"""Connections that a client of boto3 keeps at most, unless it is told otherwise."""
OF_DYNAMODB = ("dynamodb", "dynamodbstreams")
"""Services that an endpoint of AWS's serves; those of others serve whatever they have at one endpoint."""
NEEDS_BOTO3 = "requests are sent by boto3, which is not installed. Install it: {install}."


class TargetOptions(NamedTuple):
    """What a command line says about the target."""

    endpoint: str | None = None
    uses_aws: bool = False
    profile: str | None = None
    region: str | None = None
    flags: str = "--"
    """With what the names of these options begin, for sentences."""


class Target:
    """An endpoint and a Region, and clients for it; made by `find_target`."""

    def __init__(self, session: Any, endpoint: str | None, region: str, *, ignores_variables: bool) -> None:
        """`endpoint`: None for the one that boto3 finds. `ignores_variables`: boto3 does not look for endpoints."""
        self._session = session
        self._given_endpoint = endpoint
        self._ignores_variables = ignores_variables
        self._clients: dict[str, Any] = {}
        self.region = region
        self.endpoint: str = endpoint or without_user(self.client("dynamodb").meta.endpoint_url)
        self.is_aws = is_of_aws(self.endpoint)

    def client(self, service: str) -> Any:
        """The client of boto3 for a service, such as `dynamodb`. Use `worded` around its calls."""
        if service not in self._clients:
            self._clients[service] = self.new_client(service)
        return self._clients[service]

    def credentials(self) -> Any:
        """The caller's credentials, as botocore has them; None: there are none. Raises ToolkitFailure."""
        with self._worded_errors({}):
            return self._session.get_credentials()

    def ca_bundle(self) -> str | None:
        """The file of the authorities that are trusted, if variables or the profile name one."""
        found: str | None = self._session._session.get_config_variable("ca_bundle")  # noqa: SLF001 - boto3 does not tell
        return found

    def ask(self, service: str, operation: str, /, **members: Any) -> Any:
        """The reply to an operation, such as `describe_table`. Raises ToolkitFailure."""
        client = self.client(service)
        with self.worded(members):
            reply = getattr(client, operation)(**members)
        if service in OF_DYNAMODB and "json" not in reply["ResponseMetadata"]["HTTPHeaders"].get("content-type", ""):
            raise ToolkitFailure(NO_DYNAMODB.format(place=self.place))  # botocore makes an empty reply of other bodies
        with self.worded():
            return checked_reply(client, operation, members, reply, self.place)

    def ask_all(self, service: str, operation: str, /, **members: Any) -> Any:
        """The reply to an operation that answers in pages, with the members of all pages. Raises ToolkitFailure."""
        client = self.client(service)
        with self.worded(members):
            reply = client.get_paginator(operation).paginate(**members).build_full_result()
            return checked_reply(client, operation, members, reply, self.place)

    @contextmanager
    def worded(self, members: Mapping[str, Any] | None = None) -> Iterator[None]:
        """Raise what requests fail with as ToolkitFailure. `members`: those of the request, for its table's name."""
        try:
            with self._worded_errors(members or {}):
                yield
        except EndlessReply as error:
            raise ToolkitFailure(ENDLESS.format(place=self.place)) from error
        except UNREADABLE_ERRORS as error:
            raise ToolkitFailure(UNREADABLE.format(place=self.place, reason=unreadable_reason(error))) from error

    @contextmanager
    def _worded_errors(self, members: Mapping[str, Any]) -> Iterator[None]:
        """Raise botocore's own errors as ToolkitFailure."""
        # Imported here: boto3 is in an extra.
        from botocore.exceptions import BotoCoreError, ClientError
        from botocore.parsers import ResponseParserError

        try:
            yield
        except (BotoCoreError, ClientError, ResponseParserError, OSError) as error:
            raise toolkit_failure(error, self.place, members) from error

    @property
    def place(self) -> str:
        """Region and endpoint, for sentences."""
        return f"{self.region} at {self.endpoint}"

    def account(self) -> str | None:
        """The account of the caller; None if a server does not tell, because it has no STS.

        Raises ToolkitFailure if AWS does not.
        """
        try:
            found: str = self.ask("sts", "get_caller_identity")["Account"]
        except ToolkitFailure:
            if self.is_aws:
                raise
            return None
        return found

    def told(self) -> str:
        """Account, Region and endpoint, as they are printed before anything is changed. Raises ToolkitFailure."""
        return f"account {self.account() or 'unknown'}, Region {self.region}, endpoint {self.endpoint}"

    def new_client(self, service: str, connections: int = CONNECTIONS_USUAL) -> Any:
        """A client of its own, with at most so many connections. Raises UsageFault."""
        # Imported here: boto3 is in an extra.
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError

        endpoint = self._given_endpoint
        if endpoint is not None and is_of_aws(endpoint) and service not in OF_DYNAMODB:
            endpoint = None
        config = Config(
            connect_timeout=10,
            max_pool_connections=connections,
            ignore_configured_endpoint_urls=self._ignores_variables,
            retries={"mode": "standard", "total_max_attempts": TRIES_MAX},
        )
        try:
            client = self._session.client(service, endpoint_url=endpoint, region_name=self.region, config=config)
        except (BotoCoreError, ValueError) as error:
            raise UsageFault(f"boto3 makes no client for {service}: {' '.join(str(error).split())}") from error
        bound_replies(client)
        client.meta.events.register("needs-retry", _give_up)
        return client


def _give_up(caught_exception: Exception | None = None, **_: Any) -> None:
    """Raise the error of a connection that cannot be made: trying again would only let a person wait."""
    # Imported here: boto3 is in an extra.
    from botocore.exceptions import EndpointConnectionError, SSLError

    if isinstance(caught_exception, EndpointConnectionError | SSLError):
        raise caught_exception


def find_target(options: TargetOptions, environment: Mapping[str, str]) -> Target:
    """The target that options and environment name; sends nothing. Raises UsageFault, ToolkitFailure."""
    endpoint = _endpoint(options, environment)
    if find_spec("boto3") is None:
        raise ToolkitFailure(NEEDS_BOTO3.format(install=how_to_install("toolkit")))
    # Imported here: boto3 is in an extra, and loading it takes a fifth of a second.
    import boto3
    from botocore.exceptions import BotoCoreError

    is_local = endpoint is not None and not is_of_aws(endpoint)
    keys: dict[str, str] = {}
    if is_local and options.profile is None and not all(environment.get(name) for name in KEY_SOURCES):
        keys = {"aws_access_key_id": LOCAL_KEY, "aws_secret_access_key": LOCAL_KEY}
    try:
        session = boto3.Session(profile_name=options.profile, **keys)
        region = options.region or next(filter(None, map(environment.get, REGION_SOURCES)), None) or session.region_name
    except BotoCoreError as error:
        raise UsageFault(
            f"{' '.join(str(error).split()).rstrip('.')}. Mend {options.flags}profile or AWS_PROFILE."
        ) from error
    if region is None and not is_local:
        raise UsageFault(f"no Region is named. Name one with {options.flags}region, in AWS_REGION, or in the profile.")
    return Target(session, endpoint, region or LOCAL_REGION, ignores_variables=options.uses_aws)


def _endpoint(options: TargetOptions, environment: Mapping[str, str]) -> str | None:
    """The endpoint by the table above; None: boto3 finds it. Raises UsageFault."""
    flags = options.flags
    given = [
        (f"{flags}endpoint", options.endpoint),
        *((name, environment.get(name) or None) for name in ENDPOINT_SOURCES),
    ]
    source, endpoint = next(((name, url) for name, url in given if url is not None), ("", None))
    if endpoint is None:
        return None if options.uses_aws or options.profile is not None else LOCAL_ENDPOINT
    if not is_usable_endpoint(endpoint):
        shown = without_user(endpoint, "…@")
        raise UsageFault(f'{source} is "{shown}"; it must be a URL without a path, such as {LOCAL_ENDPOINT}.')
    endpoint = endpoint.removesuffix("/")
    if options.uses_aws and not is_of_aws(endpoint):
        if source == f"{flags}endpoint":
            raise UsageFault(f"{flags}aws and {source} {endpoint} exclude one another; leave one of them out.")
        return None
    if is_of_aws(endpoint) and not options.uses_aws and options.profile is None:
        raise UsageFault(
            f"{source} is {endpoint}, which is AWS. Say so with {flags}aws, or name a profile by {flags}profile."
        )
    return endpoint


def is_usable_endpoint(url: str) -> bool:
    """True for an HTTP(S) URL without user, path and query."""
    try:
        parts = urlsplit(url)
        return (
            parts.scheme in {"http", "https"}
            and bool(parts.hostname)
            and parts.path in {"", "/"}
            and parts.username is None
            and not parts.query
            and not parts.fragment
            and parts.port != 0
            and url.isascii()
            and url.isprintable()
            and " " not in url
        )
    except ValueError:
        return False


def is_of_aws(endpoint: str) -> bool:
    """True if an endpoint is one of AWS's."""
    return (urlsplit(endpoint).hostname or "").endswith(AWS_ENDINGS)
