"""`hashrange doctor`: will a server start here, and will clients reach it?
Prints findings in plain words, and the remedy of what is wrong.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from hashrange.cli.checkup import sdk_settings
from hashrange.cli.checkup.finding import Finding, FindingVerdict, surprising
from hashrange.cli.folding import Colour, HeadedLine
from hashrange.cli.main import DONE, FAILED, count
from hashrange.cli.output import say, say_unfolded
from hashrange.cli.parsing import CommandParser, command_parser, parse
from hashrange.cli.remote import ENDPOINT_FLAGS, PLACEHOLDER_KEY
from hashrange.cli.settings_sources import current_environment
from hashrange.settings import WILDCARDS
from hashrange.terminal import escape_json, without_user

EXAMPLE = """example:
  hashrange doctor

Looks at this environment as an SDK does that is given nothing in its code: variables AWS_…, then the \
profile in ~/.aws. Sends a few
small requests to the endpoint, and none to AWS. Changes nothing, and prints no secrets.

ok needs no attention; a note is right for clients that have it in their code; a hint works, but surprises \
people; what is wrong fails.
Exit code 1 if something is wrong.
"""
COLOURS: dict[FindingVerdict, Colour] = {"ok": "green", "note": "cyan", "hint": "yellow", "wrong": "red"}


def run(words: list[str]) -> int:
    """Print all findings; returns the exit code. Raises UsageError."""
    options = parse(build_parser(), words)
    environment = current_environment()
    findings: list[Finding] = []
    for finding in examine(environment, options.endpoint_url, options.profile):
        findings.append(finding)
        if not options.json:
            head = f"{finding.verdict:<6} {finding.subject:<12} "
            say(HeadedLine(head, finding.sentence, finding.verdict, COLOURS[finding.verdict]), is_flushed=True)
    verdicts = Counter(one.verdict for one in findings)
    counted = [count(verdicts["wrong"], "fault"), count(verdicts["hint"], "hint"), count(verdicts["note"], "note")]
    if options.json:
        say_unfolded(*map(escape_json, json.dumps([one._asdict() for one in findings], indent=2).split("\n")))
    else:
        say("", f"{', '.join(counted)}.")
    return FAILED if verdicts["wrong"] else DONE


def build_parser() -> CommandParser:
    """The parser of `hashrange doctor`."""
    parser = command_parser("doctor", "Tell whether a server will start here, and whether clients reach it.", EXAMPLE)
    parser.add_argument(
        *ENDPOINT_FLAGS, dest="endpoint_url", metavar="URL", help="The endpoint that your clients have in their code."
    )
    parser.add_argument("--profile", metavar="NAME", help="The profile that your clients have in their code.")
    parser.add_argument("--json", action="store_true", help="Print the findings as JSON.")
    return parser


def examine(environment: Mapping[str, str], endpoint_url: str | None, profile_name: str | None) -> Iterator[Finding]:
    """All findings, in the order in which they are found."""
    # Imported here: only this command needs them, and some load much.
    from hashrange.cli.checkup import machine
    from hashrange.cli.checkup.endpoint import ClientKeys, look_at_answers

    yield from machine.look_at_installation()
    settings, given_names, found = machine.look_at_settings(environment)
    yield from found
    yield from machine.look_at_named_files(settings, given_names)
    yield from machine.look_at_data_folder(settings)
    yield from machine.look_at_modes(settings)
    scheme = "http" if settings.tls_cert is None else "https"
    host = WILDCARDS.get(settings.host, settings.host)
    own_url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{settings.port}"
    profile = sdk_settings.read_profile(environment, profile_name, environment.get("HOME") or "~")
    endpoint = sdk_settings.endpoint_of_clients(environment, profile)
    url = endpoint_url or endpoint.url or own_url
    is_aws = sdk_settings.is_aws(sdk_settings.host_in(url))
    yield from machine.look_at_port(settings, is_called_by_clients=_port_of(url) == settings.port)
    if endpoint_url is None:
        yield from sdk_settings.look_at_endpoint(endpoint, environment, own_url)
    elif is_aws:
        yield surprising("endpoint", f"{without_user(url)} is AWS itself, to which nothing is sent here.")
    region, finding = sdk_settings.look_at_region(environment, profile)
    yield finding
    yield from sdk_settings.look_at_credentials(environment, profile)
    yield from sdk_settings.look_at_proxies(url, sdk_settings.host_in(url), environment)
    if is_aws:
        return
    keys = sdk_settings.find_keys(environment, profile)
    bundle = environment.get("AWS_CA_BUNDLE") or profile.config.get("ca_bundle")
    access_key, secret_key = keys.access_key or PLACEHOLDER_KEY, keys.secret_key or PLACEHOLDER_KEY
    are_stand_ins = keys.access_key is None and keys.secret_key is None
    yield from look_at_answers(
        url, ClientKeys(access_key, secret_key, keys.session_token, region, bundle, are_stand_ins)
    )


def _port_of(url: str) -> int | None:
    """The port that a URL names."""
    try:
        return urlsplit(url).port
    except ValueError:
        return None
