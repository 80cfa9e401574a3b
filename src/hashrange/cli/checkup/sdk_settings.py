"""What would a client do here: which endpoint, Region and keys do SDKs find? In the order of the AWS SDKs:
variables, then the profile in the shared files.

Source: AWS SDKs and Tools Reference Guide, *service-specific endpoints*, *shared config and credentials files*.
"""

import configparser
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from hashrange.aws_services.host_endings import AWS_ENDINGS
from hashrange.cli.checkup.finding import Finding, failing, fine, noted, surprising
from hashrange.terminal import without_user

TRUE = "true"
OTHER_SOURCES = (
    "role_arn",
    "sso_session",
    "sso_start_url",
    "credential_process",
    "web_identity_token_file",
    "login_session",
)
"""Keys of a profile that say that its credentials come from somewhere else."""
VARIABLES_OF_OTHER_SOURCES = (
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
ACCOUNT_DIGITS = 12
Section = Mapping[str, str]


class Profile(NamedTuple):
    """A profile of the shared files: what both say of it."""

    name: str
    is_asked_for: bool
    """True if AWS_PROFILE or --profile names it."""
    is_in_code: bool
    """True if --profile names it: the keys of variables are then not used."""
    exists: bool
    config: Section
    credentials: Section
    services: Section
    """The keys for DynamoDB in the section that the profile names as its services."""
    problem: str | None
    """Why a file cannot be read."""


class FoundEndpoint(NamedTuple):
    """Where a client sends DynamoDB's requests."""

    url: str | None
    """None: to AWS."""
    source: str


def read_profile(environment: Mapping[str, str], name: str | None, home_folder: str) -> Profile:
    """The profile that SDKs use; an empty one if there are no files."""
    home = Path(home_folder)
    asked = name or environment.get("AWS_PROFILE") or environment.get("AWS_DEFAULT_PROFILE")
    chosen = asked or "default"
    quoted, problem = _read(environment.get("AWS_CONFIG_FILE"), home / ".aws" / "config")
    config = {_without_quotes(head): section for head, section in quoted.items()}
    credentials, second = _read(environment.get("AWS_SHARED_CREDENTIALS_FILE"), home / ".aws" / "credentials")
    own = config.get(chosen if chosen == "default" else f"profile {chosen}", {})
    keys = credentials.get(chosen, {})
    services = config.get(f"services {own.get('services', '')}", {})
    return Profile(
        chosen,
        asked is not None,
        name is not None,
        bool(own or keys),
        own,
        keys,
        _nested(services.get("dynamodb", "")),
        problem or second,
    )


def _read(variable: str | None, usual: Path) -> tuple[dict[str, Section], str | None]:
    path = Path(variable) if variable else usual
    parser = configparser.RawConfigParser(default_section="\n", strict=False)
    try:
        with path.expanduser().open(encoding="utf-8") as file:
            parser.read_file(file)
    except FileNotFoundError:
        return {}, None
    except RuntimeError as error:  # a user without a home
        return {}, f"{path} cannot be read ({type(error).__name__})" if variable else None
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        return {}, f"{path} cannot be read ({type(error).__name__})"
    return {name: dict(parser.items(name)) for name in parser.sections()}, None


def _without_quotes(head: str) -> str:
    """A section's head in the config file as SDKs understand it: names may stand in quotes,
    as in `profile "my shop"`.
    """
    try:
        return " ".join(shlex.split(head))
    except ValueError:
        return head


def _nested(text: str) -> Section:
    """The indented keys below one key."""
    pairs = [line.partition("=") for line in text.splitlines() if "=" in line]
    return {key.strip(): value.strip() for key, _, value in pairs}


def endpoint_of_clients(environment: Mapping[str, str], profile: Profile) -> FoundEndpoint:
    """Where a client that is given no endpoint sends DynamoDB's requests."""
    ignores = environment.get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS") or profile.config.get(
        "ignore_configured_endpoint_urls", ""
    )
    if ignores.lower() == TRUE:
        return FoundEndpoint(
            None, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS lets clients ignore all endpoints but those in their code"
        )
    found = [
        (environment.get("AWS_ENDPOINT_URL_DYNAMODB"), "AWS_ENDPOINT_URL_DYNAMODB"),
        (environment.get("AWS_ENDPOINT_URL"), "AWS_ENDPOINT_URL"),
        (profile.services.get("endpoint_url"), f"the services of the profile {profile.name}"),
        (profile.config.get("endpoint_url"), f"the profile {profile.name}"),
    ]
    return next(
        (FoundEndpoint(url, source) for url, source in found if url),
        FoundEndpoint(None, "no variable and no profile names one"),
    )


def look_at_endpoint(endpoint: FoundEndpoint, environment: Mapping[str, str], own_url: str) -> Iterator[Finding]:
    """Where requests go that a client sends without an endpoint in its code."""
    if endpoint.url is None:
        remedy = (
            f"Set AWS_ENDPOINT_URL_DYNAMODB={own_url}, or give each client its endpoint, and name"
            " that here with --endpoint."
        )
        yield failing("endpoint", f"SDKs and the AWS CLI would call DynamoDB in AWS: {endpoint.source}. {remedy}")
        return
    if is_aws(host_in(endpoint.url)):
        yield surprising("endpoint", f"Clients call AWS itself, by {endpoint.source}: {without_user(endpoint.url)}.")
        return
    yield fine("endpoint", f"Clients call {without_user(endpoint.url)}, by {endpoint.source}.")
    if endpoint.source == "AWS_ENDPOINT_URL_DYNAMODB" and not environment.get("AWS_ENDPOINT_URL_DYNAMODB_STREAMS"):
        sentence = (
            "Streams are another service for SDKs: set AWS_ENDPOINT_URL_DYNAMODB_STREAMS too, if a program reads them."
        )
        yield surprising("streams", sentence)


def look_at_region(environment: Mapping[str, str], profile: Profile) -> tuple[str, Finding]:
    """The Region that clients find; what it means."""
    default, plain = environment.get("AWS_DEFAULT_REGION"), environment.get("AWS_REGION")
    in_profile = profile.config.get("region")
    differing = "boto3 takes the second, most SDKs the first. Each Region has tables of its own."
    if plain and not default and in_profile and plain != in_profile:
        sentence = f"AWS_REGION is {plain}, and that of the profile {profile.name} is {in_profile}: {differing}"
        return in_profile, surprising("region", sentence)
    if plain and default and plain != default:
        sentence = f"AWS_REGION is {plain}, and AWS_DEFAULT_REGION is {default}: {differing}"
        return default, surprising("region", sentence)
    if plain and not default and not in_profile:
        sentence = f"Only AWS_REGION is set, which boto3 does not read. Set AWS_DEFAULT_REGION={plain} too."
        return plain, surprising("region", sentence)
    region = default or plain or in_profile
    if region:
        sentence = f"Clients are in {region}. Each Region has tables of its own, unless the server has --shared-db."
        return region, fine("region", sentence)
    sentence = (
        "No variable and no profile names a Region. Clients that have none in their code refuse to start:"
        " for them, set AWS_REGION and AWS_DEFAULT_REGION, to us-east-1 for example."
    )
    return "us-east-1", noted("region", sentence)


class FoundKeys(NamedTuple):
    """The keys that clients find, each None if missing."""

    access_key: str | None
    secret_key: str | None
    session_token: str | None
    source: str


def find_keys(environment: Mapping[str, str], profile: Profile) -> FoundKeys:
    """The keys of the first source that has an access key: variables, the credentials file, the config file.

    If there is none: a secret that stands alone, or nothing.
    """
    variables = {name.lower(): value for name, value in environment.items() if name.startswith("AWS_")}
    of_profile = f"the profile {profile.name}"
    sources = [({} if profile.is_in_code else variables, "the environment")]
    sources += [(dict(profile.credentials), of_profile), (dict(profile.config), of_profile)]
    names = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
    found = []
    for one, source in sources:
        key, secret, token = (one.get(name) or None for name in names)
        found.append(FoundKeys(key, secret, token, source))
    lone = next((one for one in found if one.secret_key), FoundKeys(None, None, None, ""))
    return next((one for one in found if one.access_key), lone)


def look_at_credentials(environment: Mapping[str, str], profile: Profile) -> Iterator[Finding]:
    """Where clients have their keys from, and whose they are. Never shows a secret."""
    if profile.problem is not None:
        yield failing("profile", f"{profile.problem}, so clients fail as they start.")
    if profile.is_asked_for and not profile.exists:
        yield failing(
            "profile", f"There is no profile {profile.name} in the shared files, so clients fail as they start."
        )
    key, secret, _, source = find_keys(environment, profile)
    if bool(key) != bool(secret):
        given, missing = ("an access key", "its secret") if key else ("a secret", "its access key")
        yield failing(
            "credentials",
            f"{source[0].upper()}{source[1:]} has {given} without {missing}: clients fail."
            " Any pair will do for a server without a credentials file.",
        )
    elif key and len(key) == ACCOUNT_DIGITS and key.isascii() and key.isdigit():
        yield surprising(
            "credentials",
            f"The access key, from {source}, has 12 digits, so it is an account with tables of its own."
            " Other keys do not see them.",
        )
    elif key:
        yield fine("credentials", f"The access key is that of {source}.")
    elif any(environment.get(name) for name in VARIABLES_OF_OTHER_SOURCES) or profile.config.keys() & set(
        OTHER_SOURCES
    ):
        yield surprising(
            "credentials", "Clients get their keys from another program or service, which is not looked at here."
        )
    else:
        yield noted(
            "credentials",
            "No variable and no profile has keys. Clients that have none in their code send nothing:"
            " for them, set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; any will do for a server"
            " without a credentials file.",
        )


def look_at_proxies(url: str, host: str, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Whether a proxy gets the requests to the endpoint."""
    scheme = url.partition(":")[0]
    proxy = environment.get(f"{scheme}_proxy") or (environment.get(f"{scheme.upper()}_PROXY"))
    excluded = (environment.get("no_proxy") or environment.get("NO_PROXY") or "").replace(" ", "").split(",")
    place = url.partition("://")[2].partition("/")[0].rpartition("@")[2]
    is_excluded = any(one in {"*", host, place} or (one and host.endswith("." + one.lstrip("."))) for one in excluded)
    if not proxy or is_excluded:
        return
    sentence = f"Requests to {host} go through the proxy {without_user(proxy)}"
    if host in {"localhost", "::1"} or host.startswith("127."):
        yield failing("proxy", f"{sentence}, which cannot reach this machine's own ports. Add {host} to NO_PROXY.")
    else:
        yield surprising(
            "proxy", f"{sentence}, which was not asked here. Add {host} to NO_PROXY if it cannot reach it."
        )


def is_aws(host: str) -> bool:
    """True for a host of AWS."""
    return f".{host.rstrip('.')}".endswith(AWS_ENDINGS)


def host_in(url: str) -> str:
    """The host in a URL, in lower case; empty if there is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
