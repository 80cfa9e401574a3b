"""`hashrange doctor`: will a server start here, and will clients reach it? Prints findings in plain words, and the remedy of what is wrong."""

import json
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from hashrange.cli.checkup.finding import Finding
from hashrange.cli.checkup.sdk_settings import (
    Profile,
    endpoint_of_clients,
    is_aws,
    look_at_credentials,
    look_at_endpoint,
    look_at_proxies,
    look_at_region,
    read_profile,
)
from hashrange.cli.main import DONE, FAILED, count
from hashrange.cli.output import say
from hashrange.cli.parsing import CommandParser, command_parser, parse
from hashrange.cli.remote import PLACEHOLDER_KEY
from hashrange.cli.settings_sources import current_environment

EXAMPLE = """example:
  hashrange doctor

Looks at this environment as an SDK does that is given nothing in its code: variables AWS_…, then the profile in ~/.aws. Sends a few
small requests to the endpoint, and none to AWS. Changes nothing, and prints no secrets. Exit code 1 if something is wrong.
"""
WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - read, not bound to


def run(words: list[str]) -> int:
    """Print all findings; returns the exit code. Raises UsageError."""
    options = parse(build_parser(), words)
    environment = current_environment()
    findings: list[Finding] = []
    for finding in examine(environment, options.endpoint_url, options.profile):
        findings.append(finding)
        if not options.json:
            say(f"{finding.verdict:<6} {finding.subject:<12} {finding.sentence}", is_flushed=True)
    wrong = sum(one.verdict == "wrong" for one in findings)
    hints = sum(one.verdict == "hint" for one in findings)
    if options.json:
        say(json.dumps([one._asdict() for one in findings], indent=2))
    else:
        say(f"\n{count(wrong, 'fault')}, {count(hints, 'hint')}.")
    return FAILED if wrong else DONE


def build_parser() -> CommandParser:
    """The parser of `hashrange doctor`."""
    parser = command_parser("doctor", "Tell whether a server will start here, and whether clients reach it.", EXAMPLE)
    parser.set_defaults(endpoint_url=None, profile=None, json=False)
    parser.add_argument("--endpoint-url", metavar="URL", help="The endpoint that your clients have in their code.")
    parser.add_argument("--profile", metavar="NAME", help="The profile that your clients have in their code.")
    parser.add_argument("--json", action="store_true", help="Print the findings as JSON.")
    return parser


def examine(environment: Mapping[str, str], endpoint_url: str | None, profile_name: str | None) -> Iterator[Finding]:
    """All findings, in the order in which they are found."""
    # Imported here: only this command needs them, and some load much.
    from hashrange.cli.checkup.endpoint import ClientKeys, look_at_answers
    from hashrange.cli.checkup.machine import look_at_data_folder, look_at_installation, look_at_settings

    yield from look_at_installation()
    settings, found = look_at_settings(environment)
    yield from found
    yield from look_at_data_folder(settings)
    scheme = "http" if settings.tls_cert is None else "https"
    host = WILDCARDS.get(settings.host, settings.host)
    own_url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{settings.port}"
    profile = read_profile(environment, profile_name, environment.get("HOME") or "~")
    endpoint = endpoint_of_clients(environment, profile)
    if endpoint_url is None:
        yield from look_at_endpoint(endpoint, environment, own_url)
    region, found = look_at_region(environment, profile)
    yield from found
    yield from look_at_credentials(environment, profile)
    url = endpoint_url or endpoint.url or own_url
    yield from look_at_proxies(url, _host_of(url), environment)
    if is_aws(_host_of(url)):
        return
    yield from look_at_answers(url, ClientKeys(*_keys(environment, profile), region, environment.get("AWS_CA_BUNDLE")))


def _keys(environment: Mapping[str, str], profile: Profile) -> tuple[str, str, str | None]:
    """Access key, secret and token that clients find; stand-ins if they find none."""
    if environment.get("AWS_ACCESS_KEY_ID") or environment.get("AWS_SECRET_ACCESS_KEY"):
        given: Mapping[str, str] = {
            name.lower(): value for name, value in environment.items() if name.startswith("AWS_")
        }
    else:
        given = {**profile.config, **profile.credentials}
    key, secret = given.get("aws_access_key_id"), given.get("aws_secret_access_key")
    return key or PLACEHOLDER_KEY, secret or PLACEHOLDER_KEY, given.get("aws_session_token")


def _host_of(url: str) -> str:
    """The host in a URL; empty if there is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
