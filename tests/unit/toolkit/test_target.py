"""Where do the toolkit's requests go, and what do people read when they cannot be sent?"""

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hashrange.toolkit import target as target_module
from hashrange.toolkit.failures import ToolkitFailure, UsageFault
from hashrange.toolkit.target import TargetOptions, find_target

AWS = "https://dynamodb.eu-west-1.amazonaws.com"
VPC = "https://vpce-1-a.dynamodb.eu-west-1.vpce.amazonaws.com"
LOCAL = "http://127.0.0.1:8000"
REGION = {"AWS_REGION": "eu-west-1"}


@pytest.fixture
def profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Profiles: `work` for AWS, `local` for a server."""
    text = """
[profile work]
region = eu-central-1
aws_access_key_id = AKIAWORK
aws_secret_access_key = secret

[profile local]
region = eu-west-1
endpoint_url = http://localhost:4566
aws_access_key_id = AKIALOCAL
aws_secret_access_key = secret
"""
    (tmp_path / "config").write_text(text, encoding="utf-8")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))


@pytest.mark.parametrize(
    ("options", "environment", "endpoint"),
    [
        (TargetOptions(), {}, LOCAL),
        (TargetOptions(), {"AWS_ENDPOINT_URL": "http://127.0.0.1:1/"}, "http://127.0.0.1:1"),
        (TargetOptions(), {"AWS_ENDPOINT_URL": ""}, LOCAL),
        (
            TargetOptions(),
            {"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:2"},
            "http://127.0.0.1:2",
        ),
        (TargetOptions("http://db:3"), {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, "http://db:3"),
        (TargetOptions(uses_aws=True), REGION, AWS),
        (TargetOptions(uses_aws=True), {**REGION, "AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, AWS),
        (TargetOptions(uses_aws=True), {**REGION, "AWS_ENDPOINT_URL_DYNAMODB": VPC}, VPC),
        (TargetOptions(VPC, uses_aws=True), REGION, VPC),
        (TargetOptions(profile="work"), {}, "https://dynamodb.eu-central-1.amazonaws.com"),
        (TargetOptions(profile="work"), REGION, AWS),
        (TargetOptions(profile="work", region="us-west-2"), REGION, "https://dynamodb.us-west-2.amazonaws.com"),
        (TargetOptions(profile="work"), {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, "http://127.0.0.1:1"),
        (TargetOptions("http://db:3", profile="work"), {}, "http://db:3"),
        (TargetOptions(profile="local"), {}, "http://localhost:4566"),
        (TargetOptions(profile="local", uses_aws=True), {}, AWS),
    ],
)
@pytest.mark.usefixtures("profiles")
def test_the_endpoint_is_as_the_table_says(
    options: TargetOptions, environment: dict[str, str], endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():  # boto3 reads them too
        monkeypatch.setenv(name, value)
    target = find_target(options, environment)
    assert target.endpoint == endpoint
    assert target.client("dynamodb").meta.endpoint_url == endpoint
    assert target.is_aws == ("amazonaws" in endpoint)


def test_an_endpoint_of_a_server_serves_all_services_and_one_of_aws_only_its_own() -> None:
    server = find_target(TargetOptions("http://db:3"), {})
    assert server.client("cloudwatch").meta.endpoint_url == "http://db:3"
    aws = find_target(TargetOptions(VPC, uses_aws=True), REGION)
    assert aws.client("cloudwatch").meta.endpoint_url == "https://monitoring.eu-west-1.amazonaws.com"


@pytest.mark.parametrize(
    ("options", "environment", "sentence"),
    [
        (TargetOptions("db:3"), {}, '--endpoint is "db:3"; it must be a URL without a path, such as'),
        (TargetOptions("http://me:pw@db"), {}, '--endpoint is "http://…@db"; it must be'),
        (TargetOptions(), {"AWS_ENDPOINT_URL": "http://db/x"}, 'AWS_ENDPOINT_URL is "http://db/x"; it must be'),
        (TargetOptions(LOCAL, uses_aws=True), REGION, f"--aws and --endpoint {LOCAL} exclude one another"),
        (TargetOptions(AWS), REGION, f"--endpoint is {AWS}, which is AWS. Say so with --aws"),
        (TargetOptions(), {"AWS_ENDPOINT_URL": AWS}, f"AWS_ENDPOINT_URL is {AWS}, which is AWS."),
        (TargetOptions(uses_aws=True), {}, "no Region is named. Name one with --region"),
        (TargetOptions(uses_aws=True, region="a b"), {}, "boto3 makes no client for dynamodb: "),
        (TargetOptions(profile="nobody"), REGION, "The config profile (nobody) could not be found. Mend --profile"),
    ],
)
def test_what_cannot_be_used_is_told(options: TargetOptions, environment: dict[str, str], sentence: str) -> None:
    with pytest.raises(UsageFault) as raised:
        find_target(options, environment).client("dynamodb")
    assert str(raised.value).startswith(sentence)


def test_without_boto3_a_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target_module, "find_spec", lambda name: None)
    with pytest.raises(ToolkitFailure, match=r"boto3, which is not installed\. Install it: .*\[toolkit\]"):
        find_target(TargetOptions(), {})


def test_account_region_and_endpoint_are_told(endpoint: str) -> None:
    target = find_target(TargetOptions(endpoint, region="eu-west-1"), {})
    assert target.told() == f"account {target.account()}, Region eu-west-1, endpoint {endpoint}"
    assert len(target.account() or "") == 12


def test_a_missing_table_is_named_with_its_place(endpoint: str) -> None:
    target = find_target(TargetOptions(endpoint), {})
    with pytest.raises(ToolkitFailure) as raised:
        target.ask("dynamodb", "describe_table", TableName="Orders")
    assert str(raised.value).startswith(f"there is no table Orders in us-east-1 at {endpoint}. Check its name")
    assert raised.value.code == "ResourceNotFoundException"


def test_a_refusal_is_quoted_with_its_operation(endpoint: str) -> None:
    target = find_target(TargetOptions(endpoint), {})
    with pytest.raises(ToolkitFailure, match=r"refused ListTables: ValidationException: .*exclusiveStartTableName"):
        target.ask("dynamodb", "list_tables", ExclusiveStartTableName="!!!")


def test_where_no_server_answers_there_is_one_try(unused_endpoint: str) -> None:
    target = find_target(TargetOptions(unused_endpoint), {})
    tries: list[None] = []
    target.client("dynamodb").meta.events.register("before-send", lambda **_: tries.append(None))
    with pytest.raises(ToolkitFailure, match=r"no server answers in us-east-1 at .*Start one with `hashrange serve`"):
        target.ask("dynamodb", "list_tables")
    assert len(tries) == 1


def test_https_to_a_server_that_speaks_http_is_told(endpoint: str) -> None:
    target = find_target(TargetOptions(endpoint.replace("http:", "https:")), {})
    with pytest.raises(ToolkitFailure, match=r"no secure connection to us-east-1 at .*plain HTTP, say http://"):
        target.ask("dynamodb", "list_tables")


def test_credentials_are_missed_at_aws_only() -> None:
    target = find_target(TargetOptions(uses_aws=True), REGION)
    with pytest.raises(ToolkitFailure, match=r"there are no credentials for eu-west-1 at .*name a profile"):
        target.ask("dynamodb", "list_tables")


class Fixed(http.server.BaseHTTPRequestHandler):
    """Answers each request with what its server says."""

    def do_POST(self) -> None:
        status, body = self.server.reply  # type: ignore[attr-defined]
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def answering() -> Iterator[http.server.HTTPServer]:
    """A server whose `reply` is a status and a body."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Fixed) as serving:
        thread = threading.Thread(target=serving.serve_forever, args=(0.01,))
        thread.start()
        yield serving
        serving.shutdown()
        thread.join()


def refusal(code: str, message: str = "Told why.") -> bytes:
    return f'{{"__type": "com.amazonaws.dynamodb.v20120810#{code}", "message": "{message}"}}'.encode()


@pytest.mark.parametrize(
    ("status", "body", "sentence"),
    [
        (404, b"<html>nothing</html>", "what answers in .* is no DynamoDB server"),
        (200, b"<html>welcome</html>", "what answers in .* is no DynamoDB server"),
        (400, refusal("UnrecognizedClientException"), "does not let this caller in .UnrecognizedClientException: Told"),
        (400, refusal("AccessDeniedException"), "does not permit ListTables .* Ask for a policy"),
        (400, refusal("ThrottlingException"), "has throttled ListTables, again after every retry"),
        (400, refusal("LimitExceededException"), "refused ListTables: LimitExceededException: Told why.$"),
        (500, refusal("InternalServerError"), "failed in ListTables .InternalServerError: Told why.. Try again"),
    ],
)
def test_each_kind_of_refusal_has_a_way_out(
    answering: http.server.HTTPServer, status: int, body: bytes, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(target_module, "TRIES_MAX", 1)
    answering.reply = (status, body)  # type: ignore[attr-defined]
    target = find_target(TargetOptions(f"http://127.0.0.1:{answering.server_port}"), {})
    with pytest.raises(ToolkitFailure, match=sentence):
        target.ask("dynamodb", "list_tables")


def test_a_server_without_sts_has_no_account(answering: http.server.HTTPServer) -> None:
    answering.reply = (400, refusal("UnknownOperationException"))  # type: ignore[attr-defined]
    target = find_target(TargetOptions(f"http://127.0.0.1:{answering.server_port}"), {})
    assert target.told().startswith("account unknown, Region us-east-1, endpoint http://127")
