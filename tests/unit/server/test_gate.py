"""Pages of the web, and names that lead to this machine: who is refused before a protocol reads the request."""

import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

import boto3
import pytest

from hashrange.functions.api.api_paths import API_PATHS
from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.s3.api.registry import S3_OPERATIONS
from hashrange.server.access import sessions_for
from hashrange.server.host_names import KNOWN_MAX
from hashrange.server.protocols.admin.registry import ENDPOINTS
from hashrange.settings import Settings, SettingUnusable
from hashrange.sts.api.registry import sts_api
from hashrange.testing import server
from tests.support.raw_client import RawClient
from tests.support.servers import ThreadServer
from tests.support.signing import ACCESS_KEY, REGION, SECRET_KEY
from tests.support.stores import make_store

FOREIGN = "https://evil.example"
PRESIGNED = (
    "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential="
    + quote("AKIAIOSFODNN7EXAMPLE/20261023/us-east-1/SERVICE/aws4_request", safe="")
    + "&X-Amz-Date=20261023T120000Z&X-Amz-Expires=604800&X-Amz-SignedHeaders=host&X-Amz-Signature="
    + "0123456789abcdef" * 4
)
"""A query that a page can write, though it knows no secret."""
FORM = "application/x-www-form-urlencoded"
CREDENTIALS = f"""
[[credential]]
access_key = "{ACCESS_KEY}"
secret_key = "{SECRET_KEY}"
"""


class Asked(NamedTuple):
    """A request that a page of another site may try."""

    method: str
    path: str
    body: bytes = b""
    headers: dict[str, str] = {}  # noqa: RUF012 - never changed


class Told(NamedTuple):
    """A reply."""

    status: int
    headers: dict[str, str]
    body: bytes


def ask(port: int, asked: Asked, **headers: str) -> Told:
    """The reply to a request with these headers, in whose names an underscore stands for a hyphen;
    without Host if that is empty.
    """
    complete = {**asked.headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
    connection = http.client.HTTPConnection("127.0.0.1", port)
    try:
        connection.putrequest(asked.method, asked.path, skip_host="Host" in complete, skip_accept_encoding=True)
        for name, value in complete.items():
            if name != "Host" or value:
                connection.putheader(name, value)
        connection.putheader("Content-Length", str(len(asked.body)))
        connection.endheaders(asked.body)
        answer = connection.getresponse()
        return Told(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
    finally:
        connection.close()


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadServer]:
    """A server with all that settings can switch on."""
    settings = Settings(
        port=0,
        data_dir=None,
        admin=True,
        functions=True,
        others="http://127.0.0.1:9/",
        s3_folder=str(tmp_path_factory.mktemp("s3")),
    )
    running = ThreadServer(make_store, ALL_OPERATIONS, settings=settings)
    yield running
    running.stop()


def routing_table(running: ThreadServer) -> dict[str, list[Asked]]:
    """Class of each protocol that acts on requests → all its paths and operations,
    as a page of another site would call them.
    """
    forms = [Asked("POST", "/", b"Action=Nothing&Version=2010-08-01", {"Content-Type": FORM})]
    sts = sts_api(sessions_for(running.server.access, running.clock))
    for api in [*running.service.features.apis(), sts]:
        for operation in api.operations:
            query = f"Action={operation.name}&Version={api.version}"
            signed = PRESIGNED.replace("SERVICE", api.signing_name)
            forms += [
                Asked("POST", f"/?{signed}", query.encode(), {"Content-Type": FORM}),
                Asked("POST", f"/?{signed}&{query}", b"", {"Content-Type": "text/plain"}),
                Asked("GET", f"/?{query}&{signed}"),
            ]
            if api.target_prefix:
                target = f"{api.target_prefix}.{operation.name}"
                forms += [
                    Asked("POST", "/", b"{}", {"Content-Type": "text/plain", "X-Amz-Target": target}),
                    Asked("POST", f"/service/{api.target_prefix}/operation/{operation.name}?{signed}", b"\xa0"),
                ]
    signed = PRESIGNED.replace("SERVICE", "lambda")
    signed_for_s3 = PRESIGNED.replace("SERVICE", "s3")
    named = [one.name.replace("NAME", "a").split(" ") for one in ENDPOINTS]
    admin = [Asked(method, "/_hashrange/v1/" + path.lower(), b"{}") for method, path in named]
    return {
        "Admin": [*admin, Asked("POST", "/_hashrange/nothing")],
        "MetricsPath": [Asked("GET", "/metrics"), Asked("HEAD", "/metrics?x=1")],
        "LambdaProtocol": [
            *(
                Asked(method, path.replace("{", "").replace("}", "") + f"?{signed}", b"{}")
                for method, path in API_PATHS.values()
            ),
            Asked("POST", f"/2015-03-31/functions?{signed}", b"{}", {"Content-Type": "text/plain"}),
        ],
        "CodeDownloads": [Asked("GET", "/_lambda/code/anything")],
        "OtherServices": forms,
        "S3Protocol": [
            *(
                Asked(
                    one.wire.method,
                    {"service": "/", "bucket": "/bucket", "key": "/bucket/key"}[one.wire.target]
                    + "?"
                    + "&".join([*(f"{name}={value or 1}" for name, value in one.wire.query.items()), signed_for_s3]),
                    b"x" if one.wire.method in {"PUT", "POST"} else b"",
                )
                for one in S3_OPERATIONS
            ),
            Asked("PUT", "/bucket/key?AWSAccessKeyId=a&Signature=b&Expires=99999999999", b"x"),
            Asked("GET", "/bucket?acl&" + signed_for_s3),
        ],
        "SignedForOthers": [
            Asked("POST", "/?" + PRESIGNED.replace("SERVICE", "sqs"), b"Action=SendMessage"),
            Asked("PUT", "/bucket/key?" + PRESIGNED.replace("SERVICE", "s3express"), b"x"),
        ],
        "UnsignedForOthers": [
            Asked("GET", "/bucket/key"),
            Asked("POST", "/bucket", b"x", {"Content-Type": "text/plain"}),
            Asked("POST", "/", b"Action=SendMessage", {"Content-Type": FORM}),
        ],
        "Plain": [Asked("GET", "/"), Asked("POST", "/", b"{}", {"Content-Type": "text/plain"})],
    }


BY_PAGES = [
    {"Origin": FOREIGN, "Sec-Fetch-Site": "cross-site"},
    {"Origin": FOREIGN},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1"},
    {"Origin": "https://127.0.0.1:{port}"},
    {"Origin": "http://127.0.0.1:{port}.evil.example"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
]


def test_no_page_of_another_site_gets_past_the_gate(everything: ThreadServer) -> None:
    """The routing table is walked, so a protocol or path that is added is looked at too."""
    table = routing_table(everything)
    assert {type(one).__name__ for one in everything.server.front.protocols} - {"DynamoDBJson"} == set(table)
    for asked in (one for requests in table.values() for one in requests):
        for by_page in BY_PAGES[:2] if len(asked.body) else BY_PAGES:
            headers = {name: value.replace("{port}", str(everything.port)) for name, value in by_page.items()}
            told = ask(everything.port, asked, **headers)
            assert told.status == 403, (asked, headers, told)
            assert not any(name.startswith("access-control") for name in told.headers), (asked, told)
        path = asked.path.partition("?")[0]
        if path != "/":
            preflight = ask(
                everything.port,
                Asked("OPTIONS", path),
                Origin=FOREIGN,
                Access_Control_Request_Method=asked.method,
                Access_Control_Request_Headers="authorization,content-type",
            )
            assert preflight.status == 403, (asked, preflight)
            assert not any(name.startswith("access-control") for name in preflight.headers), (asked, preflight)
    functions = boto3.client(
        "lambda", endpoint_url=everything.endpoint, region_name=REGION, aws_access_key_id="a", aws_secret_access_key="b"
    )
    assert functions.list_functions()["Functions"] == []


@pytest.mark.parametrize("by_page", BY_PAGES, ids=str)
def test_every_sign_of_another_page_counts(everything: ThreadServer, by_page: dict[str, str]) -> None:
    headers = {name: value.replace("{port}", str(everything.port)) for name, value in by_page.items()}
    for asked in (Asked("POST", "/_hashrange/v1/reset", b"{}"), Asked("GET", "/_hashrange/v1/info")):
        assert ask(everything.port, asked, **headers).status == 403


@pytest.mark.parametrize(
    "by_page",
    [
        {},
        {"Origin": "http://127.0.0.1:{port}"},
        {"Origin": "HTTP://127.0.0.1:{port}", "Sec-Fetch-Site": "same-origin"},
        {"Origin": "http://127.0.0.1:{port}", "Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
    ],
    ids=str,
)
def test_own_pages_and_links_that_only_read_pass(everything: ThreadServer, by_page: dict[str, str]) -> None:
    headers = {name: value.replace("{port}", str(everything.port)) for name, value in by_page.items()}
    assert ask(everything.port, Asked("GET", "/_hashrange/v1/ready"), **headers).status == 200


@pytest.mark.parametrize(
    "sent",
    [
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
        {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64)"},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["Action", "%41ction", "A%63tion"])
def test_a_link_that_acts_does_not(everything: ThreadServer, sent: dict[str, str], name: str) -> None:
    """Browsers do not say where a GET comes from if it goes beyond the loopback without TLS."""
    path = (
        f"/?{name}=DeleteAlarms&Version=2010-08-01&AlarmNames.member.1=a&{PRESIGNED.replace('SERVICE', 'monitoring')}"
    )
    assert ask(everything.port, Asked("GET", path), **sent).status == 403


@pytest.mark.parametrize("name", ["evil.amazonaws.com", "dynamodb.us-east-1.amazonaws.com", "x.api.aws"])
def test_no_page_is_the_servers_own_at_a_name_of_aws(everything: ThreadServer, name: str) -> None:
    """Whoever forges answers of the DNS may lead a browser here by such a name."""
    host = f"{name}:{everything.port}"
    for page in ({"Origin": f"http://{host}"}, {"Sec-Fetch-Site": "same-origin"}):
        for asked in (Asked("POST", "/_hashrange/v1/clock/freeze", b"{}"), Asked("GET", "/2015-03-31/functions")):
            assert ask(everything.port, asked, Host=host, **page).status == 403, (asked, page)
    assert ask(everything.port, Asked("GET", "/_hashrange/v1/info"), Host=host).status == 200
    told = RawClient("127.0.0.1", everything.port)("ListTables", {}, {"Host": host, "Origin": f"http://{host}"})
    assert told.status == 200


def test_pages_reach_dynamodb_as_they_reach_the_service(everything: ThreadServer) -> None:
    client = RawClient("127.0.0.1", everything.port)
    page = {"Origin": FOREIGN, "Sec-Fetch-Site": "cross-site"}
    told = client("ListTables", {}, page)
    assert (told.status, told.headers["access-control-allow-origin"]) == (200, "*")
    streams = client("DynamoDBStreams_20120810.ListStreams", {}, page)
    assert (streams.status, streams.headers["access-control-allow-origin"]) == (200, "*")
    granted = ask(everything.port, Asked("OPTIONS", "/"), Origin=FOREIGN, Access_Control_Request_Headers="x-amz-target")
    assert granted.headers["access-control-allow-headers"] == "x-amz-target"


REACHING_OUT = {
    "EnableKinesisStreamingDestination",
    "ExportTableToPointInTime",
    "ImportTable",
    "StartBulkPutItems",
}


def test_pages_reach_the_tables_and_nothing_behind_them(everything: ThreadServer) -> None:
    """What acts with the server's credentials elsewhere, or in its folder of S3, is for no other site's pages."""
    assert {name for name, one in ALL_OPERATIONS.items() if one.wire.reaches_out} == REACHING_OUT
    client = RawClient("127.0.0.1", everything.port)
    for name in sorted(REACHING_OUT):
        for by_page in BY_PAGES:
            page = {header: value.replace("{port}", str(everything.port)) for header, value in by_page.items()}
            told = client(name, {}, page)
            error = told.json()["__type"].rpartition("#")[2]
            assert (told.status, error) == (400, "AccessDeniedException"), (name, page)
            assert "access-control-allow-origin" not in told.headers
        for blank in (" ", "\t"):
            told = client(name, {}, {"Origin": FOREIGN, "X-Amz-Target": f"DynamoDB_20120810.{name}{blank}"})
            assert told.json()["__type"].endswith("#AccessDeniedException"), (name, blank)
        own = client(name, {}, {"Origin": f"http://127.0.0.1:{everything.port}"})
        assert own.json()["__type"].endswith("ValidationException")
        assert client(name, {}).json()["__type"].endswith("ValidationException")


def test_a_page_cannot_read_objects_of_s3_by_importing_them(everything: ThreadServer) -> None:
    request = {
        "S3BucketSource": {"S3Bucket": "private"},
        "InputFormat": "CSV",
        "TableCreationParameters": {
            "TableName": "taken-by-a-page",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "BillingMode": "PAY_PER_REQUEST",
        },
    }
    client = RawClient("127.0.0.1", everything.port)
    assert client("ImportTable", request, {"Origin": FOREIGN}).status == 400
    assert "taken-by-a-page" not in client("ListTables", {}).json()["TableNames"]


def test_pages_of_allowed_origins_get_in() -> None:
    page = "http://localhost:3000"
    settings = Settings(
        port=0, data_dir=None, admin=True, functions=True, allowed_origins=f"https://other.example, {page.upper()}/"
    )
    with server(settings) as database:
        port = int(database.endpoint.rpartition(":")[2])
        for method, path in (("GET", "/_hashrange/v1/info"), ("GET", "/metrics"), ("POST", "/_hashrange/v1/reset")):
            told = ask(port, Asked(method, path), Origin=page, Sec_Fetch_Site="same-site")
            assert (told.status, told.headers["access-control-allow-origin"]) == (200, "*")
            granted = ask(port, Asked("OPTIONS", path), Origin=page, Access_Control_Request_Method=method)
            assert (granted.status, granted.headers["access-control-allow-methods"]) == (200, method)
        path = "/2015-03-31/functions"
        assert ask(port, Asked("OPTIONS", path), Origin=page, Access_Control_Request_Method="GET").status == 200
        refused = ask(port, Asked("GET", path), Origin=page)  # without a signature
        assert (refused.status, refused.headers["access-control-allow-origin"]) == (403, "*")
        assert b"Authentication" in refused.body
        assert ask(port, Asked("GET", "/metrics"), Origin=page + "0").status == 403


@pytest.mark.parametrize("wrong", ["evil.example", "http://a/path", "*", "", "http://a, ,"])
def test_what_is_no_origin_is_told(wrong: str) -> None:
    with (
        pytest.raises(SettingUnusable, match="--allowed-origins"),
        server(Settings(port=0, data_dir=None, allowed_origins=wrong)),
    ):
        pass


# --- hosts -----------------------------------------------------------------------------------------

OWN = [
    "localhost",
    "localhost:1",
    "LOCALHOST:8000",
    "localhost.",
    "a.b.localhost:80",
    "127.0.0.1",
    "127.9.8.7:8000",
    "[::1]:8000",
    "[::1]",
    "[::ffff:127.0.0.1]:80",
    "host.docker.internal:8000",
    "host.testcontainers.internal",
    "dynamodb.us-east-1.amazonaws.com",
    "123456789012.ddb.us-east-1.amazonaws.com:443",
    socket.gethostname(),
    f"{socket.gethostname().partition('.')[0]}.local:8000",
]
FOREIGN_HOSTS = [
    "evil.example", "evil.example:8000", "localhost.evil.example", "evillocalhost", "127.0.0.1.evil.example",
    "10.0.0.1", "128.0.0.1:80",
    "[::2]", "amazonaws.com.evil.example", "evilamazonaws.com", "", ":8000", "a:b:c", "localhost@evil.example",
    "\xe9vil", "[127.0.0.1",
    "evil.example/.localhost", "evil.example#.localhost", "evil.example?.localhost", "[localhost]",
    "evil.example\\.localhost",
]  # fmt: skip


@pytest.mark.parametrize("host", OWN)
def test_names_of_the_machine_are_accepted(everything: ThreadServer, host: str) -> None:
    assert ask(everything.port, Asked("GET", "/_hashrange/v1/ready"), Host=host).status == 200
    assert RawClient("127.0.0.1", everything.port)("ListTables", {}, {"Host": host}).status == 200


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
def test_other_names_are_not(everything: ThreadServer, host: str) -> None:
    for method, path in (
        ("GET", "/_hashrange/v1/info"),
        ("GET", "/_hashrange/v1/faults"),
        ("POST", "/_hashrange/v1/reset"),
    ):
        told = ask(everything.port, Asked(method, path), Host=host)
        assert told.status == 403
        assert "--allowed-hosts" in json.loads(told.body)["error"]
    if host:  # without a Host, this client would send one
        refused = RawClient("127.0.0.1", everything.port)("ListTables", {}, {"Host": host})
        assert refused.status == 400
        assert refused.json()["__type"].endswith("#AccessDeniedException")
        assert "--allowed-hosts" in refused.json()["Message"]


def raw(port: int, data: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"HTTP/1.0\r\n", b"200"),
        (b"HTTP/1.1\r\n", b"403"),
        (b"HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n", b"403"),
        (b"HTTP/1.0\r\nHost: evil.example\r\n", b"403"),
        (b"HTTP/1.0\r\nUpgrade: h2c\r\n", b"200"),
        (b"HTTP/1.1\r\nUpgrade: h2c\r\n", b"403"),
    ],
)
def test_only_http_1_0_needs_no_host(everything: ThreadServer, head: bytes, status: bytes) -> None:
    wants = b"upgrade" if b"Upgrade" in head else b"close"
    answer = raw(everything.port, b"GET /_hashrange/v1/ready " + head + b"Connection: %b\r\n\r\n" % wants)
    assert answer.split(b" ")[1] == status


def test_a_setting_adds_names() -> None:
    with server(Settings(port=0, data_dir=None, admin=True, allowed_hosts="DB.test, *.example.com")) as database:
        port = int(database.endpoint.rpartition(":")[2])
        for host, status in (("db.test:8000", 200), ("a.b.example.com", 200), ("example.com", 403), ("x.db.test", 403)):
            assert ask(port, Asked("GET", "/_hashrange/v1/info"), Host=host).status == status


@pytest.mark.parametrize("wrong", ["http://db.test", "db.test:8000", "*", "", "a b"])
def test_what_is_no_name_is_told(wrong: str) -> None:
    with (
        pytest.raises(SettingUnusable, match="--allowed-hosts"),
        server(Settings(port=0, data_dir=None, allowed_hosts=wrong)),
    ):
        pass


def test_any_name_will_do_where_others_get_in() -> None:
    """A server that listens on all addresses has names that it cannot know."""
    with server(Settings(port=0, data_dir=None, host="0.0.0.0")) as database:
        port = int(database.endpoint.rpartition(":")[2])
        assert RawClient("127.0.0.1", port)("ListTables", {}, {"Host": "dynamodb.compose:8000"}).status == 200
    with server(Settings(port=0, data_dir=None, host="0.0.0.0", allowed_hosts="dynamodb.compose")) as database:
        client = RawClient("127.0.0.1", int(database.endpoint.rpartition(":")[2]))
        for host, status in (("dynamodb.compose:8000", 200), ("localhost", 200), ("evil.example", 400)):
            assert client("ListTables", {}, {"Host": host}).status == status


def test_a_checked_signature_lets_any_name_in(tmp_path: Any) -> None:
    path = tmp_path / "credentials.toml"
    path.write_text(CREDENTIALS)
    settings = Settings(port=0, data_dir=None, admin=True, credentials=str(path))
    running = ThreadServer(make_store, ALL_OPERATIONS, settings=settings)
    try:
        evil = {"Host": "evil.example"}
        assert RawClient("127.0.0.1", running.port)("ListTables", {}, evil).status == 200
        assert b"evil.example" in running.server.front.gate.hosts.known  # no further look costs time
        other = RawClient("127.0.0.1", running.port)("ListTables", {}, {"Host": "other.example"}, is_signed=False)
        assert "--allowed-hosts" in other.json()["Message"]
        signed_admin = {"Authorization": "AWS4-HMAC-SHA256 Credential=a/20261023/us-east-1/dynamodb/aws4_request"}
        assert ask(running.port, Asked("GET", "/_hashrange/v1/info", b"", signed_admin), **evil).status == 403
        assert ask(running.port, Asked("GET", "/metrics"), **evil).status == 403
    finally:
        running.stop()


def test_few_names_are_remembered(everything: ThreadServer) -> None:
    client = RawClient("127.0.0.1", everything.port)
    for number in range(KNOWN_MAX + 10):
        assert client("ListTables", {}, {"Host": f"h{number}.localhost"}).status == 200
    assert len(everything.server.front.gate.hosts.known) <= KNOWN_MAX
    assert client("ListTables", {}, {"Host": "evil.example"}).status == 400
