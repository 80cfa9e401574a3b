"""One request in three forms: JSON, CBOR and the Query form get the same answers, each in its own form."""

import gzip
import json
import struct
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import urlencode
from xml.etree import ElementTree as ET

import cbor2
import pytest

from hashrange.testing.database import Database

SIGNED = (
    "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261126/us-east-1/monitoring/aws4_request, SignedHeaders=host;x-amz-date,"
    f" Signature={'0' * 64}"
)
XML = "{http://monitoring.amazonaws.com/doc/2010-08-01/}"
FORMS = ("json", "cbor", "query")


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


def send(database: Database, path: str, body: bytes, method: str = "POST", **headers: str) -> Answer:
    """Send a signed request."""
    own = {
        "X-Amz-Date": f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}",
        "Authorization": SIGNED.replace("20261126", f"{datetime.now(UTC):%Y%m%d}"),
    }
    request = urllib.request.Request(
        database.endpoint + path, body if method == "POST" else None, own | headers, method=method
    )
    try:
        with urllib.request.urlopen(request) as reply:
            return Answer(reply.status, {k.lower(): v for k, v in reply.headers.items()}, reply.read())
    except urllib.error.HTTPError as error:
        answer = Answer(error.code, {k.lower(): v for k, v in error.headers.items()}, error.read())
        error.close()
        return answer


def send_json(database: Database, operation: str, body: bytes, **headers: str) -> Answer:
    target = {"X-Amz-Target": f"GraniteServiceVersion20100801.{operation}"}
    return send(
        database,
        "/",
        body,
        **target,
        **{"Content-Type": "application/x-amz-json-1.0", "X-Amzn-Query-Mode": "true"},
        **headers,
    )


def send_cbor(database: Database, operation: str, body: bytes, **headers: str) -> Answer:
    path = f"/service/GraniteServiceVersion20100801/operation/{operation}"
    own = {"Smithy-Protocol": "rpc-v2-cbor", "Accept": "application/cbor", "Content-Type": "application/cbor"}
    return send(database, path, body, **own, **headers)


def send_query(database: Database, operation: str, members: dict[str, str], method: str = "POST") -> Answer:
    text = urlencode({"Action": operation, "Version": "2010-08-01", **members})
    if method == "GET":
        return send(database, f"/?{text}", b"", "GET")
    return send(database, "/", text.encode(), **{"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"})


def flat(node: Any, prefix: str = "") -> dict[str, str]:
    """Members as the Query form has them."""
    if isinstance(node, dict):
        pairs = {f"{prefix}.{name}" if prefix else name: value for name, value in node.items()}
    elif isinstance(node, list):
        pairs = {f"{prefix}.member.{place}": value for place, value in enumerate(node, 1)}
    else:
        return {prefix: node.isoformat() if isinstance(node, datetime) else str(node)}
    return {name: value for one, below in pairs.items() for name, value in flat(below, one).items()}


def ask(database: Database, form: str, operation: str, members: dict[str, Any]) -> tuple[int, dict[str, Any], str]:
    """Status, members of the reply or of the error, and the error's code in the Query form."""
    if form == "query":
        answer = send_query(database, operation, flat(members))
        root = ET.fromstring(answer.body)
        assert root.find(f".//{XML}RequestId") is not None
        code = root.findtext(f".//{XML}Code", "")
        result = root.find(f"{XML}{operation}Result")
        return answer.status, {} if result is None else read_xml(result), code
    if form == "json":
        body = json.dumps(members, default=lambda time: time.timestamp()).encode()
        answer = send_json(database, operation, body)
        found = json.loads(answer.body)
    else:
        answer = send_cbor(database, operation, cbor2.dumps(members, datetime_as_timestamp=True, timezone=UTC))
        assert answer.headers["smithy-protocol"] == "rpc-v2-cbor"
        found = cbor2.loads(answer.body)
    assert answer.headers["x-amzn-requestid"]
    return answer.status, found, answer.headers.get("x-amzn-query-error", "").partition(";")[0]


def read_xml(element: ET.Element) -> Any:
    """Lists for members, dicts for others, and texts."""
    children = list(element)
    if not children:
        return element.text or ""
    if all(child.tag == f"{XML}member" for child in children):
        return [read_xml(child) for child in children]
    return {child.tag.removeprefix(XML): read_xml(child) for child in children}


def around_now(database: Database) -> dict[str, Any]:
    now = datetime.fromtimestamp(database.clock.now(), UTC).replace(microsecond=0)
    return {"StartTime": now - timedelta(hours=1), "EndTime": now + timedelta(minutes=1)}


@pytest.mark.parametrize("form", FORMS)
def test_data_is_put_and_read(database: Database, form: str) -> None:
    metric = {"Namespace": f"own/{form}", "MetricName": "Orders"}
    dimensions = [{"Name": "Shop", "Value": "<Groesse & Co>"}, {"Name": "City", "Value": "Ulm"}]
    datum = {
        "MetricName": "Orders",
        "Dimensions": dimensions,
        "Values": [1.5, 2.0],
        "Counts": [2.0, 1.0],
        "Unit": "Count",
    }
    status, _, _ = ask(database, form, "PutMetricData", {"Namespace": metric["Namespace"], "MetricData": [datum]})
    assert status == 200
    asked = {**metric, "Dimensions": dimensions, **around_now(database), "Period": 60}
    status, found, _ = ask(database, form, "GetMetricStatistics", {**asked, "Statistics": ["Sum", "Maximum"]})
    assert status == 200
    assert found["Label"] == "Orders"
    (point,) = found["Datapoints"]
    assert (float(point["Sum"]), float(point["Maximum"]), point["Unit"]) == (5.0, 2.0, "Count")
    status, found, _ = ask(database, form, "GetMetricStatistics", {**asked, "ExtendedStatistics": ["p100"]})
    (point,) = found["Datapoints"]
    if form == "query":
        assert point["ExtendedStatistics"] == {"entry": {"key": "p100", "value": "2.0"}}
    else:
        assert point["ExtendedStatistics"] == {"p100": 2.0}
    status, found, _ = ask(database, form, "ListMetrics", {"Namespace": metric["Namespace"]})
    (listed,) = found["Metrics"]
    assert listed["Dimensions"] == sorted(dimensions, key=lambda one: one["Name"])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("members", "code"),
    [
        ({"Namespace": "own"}, "MissingParameter"),
        ({"MetricData": [{"MetricName": "a", "Value": 1.0}]}, "MissingParameter"),
        ({"Namespace": "AWS/DynamoDB", "MetricData": [{"MetricName": "a", "Value": 1.0}]}, "InvalidParameterValue"),
        ({"Namespace": "own", "MetricData": [{"MetricName": "a", "Value": "much"}]}, "InvalidParameterValue"),
        ({"Namespace": "own", "MetricData": [{"Value": 1.0}]}, "MissingParameter"),
        ({"Namespace": "own", "MetricData": "none"}, "InvalidParameterValue"),
    ],
)
def test_errors_have_their_code_in_every_form(
    database: Database, form: str, members: dict[str, Any], code: str
) -> None:
    status, error, found = ask(database, form, "PutMetricData", members)
    assert (status, found) == (400, code)
    if form != "query":
        assert error["message"]


@pytest.mark.parametrize("form", FORMS)
def test_operations_that_are_not_served_say_so(database: Database, form: str) -> None:
    status, _, code = ask(database, form, "PutDashboard", {"DashboardName": "a", "DashboardBody": "{}"})
    assert (status, code) == (400, "UnsupportedOperationException")
    status, _, code = ask(database, form, "PutNothing", {})
    assert (status, code) == (400, "InvalidAction" if form == "query" else "UnknownOperationException")


def test_a_compressed_body_is_read(database: Database) -> None:
    members = {"Namespace": "own/gzip", "MetricData": [{"MetricName": "a", "Value": 1.0}]}
    compressed = gzip.compress(cbor2.dumps(members))
    assert send_cbor(database, "PutMetricData", compressed, **{"Content-Encoding": "gzip"}).status == 200
    assert (
        send_json(
            database, "PutMetricData", gzip.compress(json.dumps(members).encode()), **{"Content-Encoding": "gzip"}
        ).status
        == 200
    )
    _, found, _ = ask(database, "json", "ListMetrics", {"Namespace": "own/gzip"})
    assert len(found["Metrics"]) == 1


def test_a_compressed_body_that_becomes_too_large_is_refused(database: Database) -> None:
    for plain_bytes in (3_000_000, 30_000_000):
        compressed = gzip.compress(b" " * plain_bytes)
        for answer in (
            send_json(database, "PutMetricData", compressed, **{"Content-Encoding": "gzip"}),
            send_cbor(database, "PutMetricData", compressed, **{"Content-Encoding": "gzip"}),
        ):
            assert answer.status == 400
            assert b"the body has more than 2,097,152 bytes" in answer.body


@pytest.mark.parametrize("form", FORMS)
def test_data_of_a_request_have_at_most_a_megabyte(database: Database, form: str) -> None:
    """They were taken up to two, so that a program whose batches the service refuses worked here."""
    dimensions = [{"Name": "d", "Value": "v" * 1_000}]
    data = [{"MetricName": f"large {number}", "Value": 1, "Dimensions": dimensions} for number in range(1_000)]
    for kept, expected in ((600, (200, "")), (1_000, (413, "RequestEntityTooLarge"))):
        members = {"Namespace": "own/large", "MetricData": data[:kept]}
        status, answer, code = ask(database, form, "PutMetricData", members)
        assert (status, code) == expected
    if form != "query":
        assert answer["message"].startswith("Request size 1")
        assert answer["message"].endswith(" exceeded 1048576 bytes")


def test_a_compressed_form_is_read(database: Database) -> None:
    text = "Action=PutMetricData&Namespace=own/form&MetricData.member.1.MetricName=a&MetricData.member.1.Value=1"
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Content-Encoding": "gzip"}
    assert send(database, "/", gzip.compress(text.encode()), **headers).status == 200
    _, found, _ = ask(database, "json", "ListMetrics", {"Namespace": "own/form"})
    assert len(found["Metrics"]) == 1
    assert send(database, "/", text.encode(), **headers).status != 200


def test_an_empty_cbor_request_has_no_body(database: Database) -> None:
    assert send_cbor(database, "ListMetrics", b"").status == 200


def test_the_query_form_may_be_in_the_url(database: Database) -> None:
    answer = send_query(database, "ListMetrics", {"Namespace": "nobody"}, "GET")
    assert answer.status == 200
    assert answer.body.startswith(b"<ListMetricsResponse xmlns=")
    assert answer.headers["content-type"] == "text/xml"


@pytest.mark.parametrize(
    "members",
    [
        {"MetricData.member.1": "x"},
        {"MetricData.member.x.MetricName": "a"},
        {"MetricData.member.1.MetricName.more": "a"},
        {"MetricData.member.1.MetricName": "a", "MetricData.member.1": "b"},
        {"MetricData.member.1.Timestamp": "yesterday"},
        {"MetricData.member.10000000.MetricName": "a", "MetricData.member.10000000.Value": "1"},
        {"MetricData.member.99999999999999.MetricName": "a"},
        {".".join(["A"] * 100): "a"},
        {"Namespace.member.1": "a"},
    ],
)
def test_twisted_forms_are_refused(database: Database, members: dict[str, str]) -> None:
    answer = send_query(
        database, "PutMetricData", {"Namespace": "own", **members} if "Namespace.member.1" not in members else members
    )
    assert answer.status == 400, answer


@pytest.mark.parametrize(
    "body",
    [
        b"\x81" * 100_000,
        b"\x9f" * 100_000,
        b"\xa1" + b"\x61a" * 3,
        b"\x7b\x7f\xff\xff\xff\xff\xff\xff\xff",
        b"\xd8\x1c\x81\xd8\x1d\x00",
        b"\xf7",
        b"\x80",
        b"\xa1\x01\x02",
        b"\xbf\x69Namespace\xfb\x7f\xf8\x00\x00\x00\x00\x00\x00\xff",
        cbor2.dumps({"Namespace": "own", "MetricData": [{"MetricName": "a", "Value": float("nan")}]}),
        cbor2.dumps({"Namespace": "own", "MetricData": [{"MetricName": "a", "Value": 10**400}]}),
        cbor2.dumps({"Namespace": "own", "MetricData": [{"MetricName": "a", "Value": 1.0, "Timestamp": 1e300}]}),
    ],
)
def test_hostile_cbor_is_refused(database: Database, body: bytes) -> None:
    assert send_cbor(database, "PutMetricData", body).status == 400
    assert send_cbor(database, "ListMetrics", b"").status == 200


@pytest.mark.parametrize(
    "value",
    [
        b"\xc2\x41\x01",
        b"\xc4\x82\x01\x02",
        b"\xc5\x82\x1b" + b"\x7f" * 8 + b"\x01",
        b"\xd8\x1e\x82\x01\x02",
        b"\xd8\x23\x62a*",
        b"\xd9\x00\x23\x62a*",
        b"\xda\x00\x00\x00\x23\x62a*",
        b"\x82\x78\x18" + b"\x61" * 24 + b"\xd8\x24\x60",
        b"\x9f\x5f\x41\x00\xff\xfb" + b"\xc4" * 8 + b"\xc6\x00\xff",
    ],
)
def test_tags_of_cbor_are_refused_unless_they_are_times(database: Database, value: bytes) -> None:
    """Whether a member is read or not: the library makes a value of each, some of which take long."""
    for name in ("MetricName", "Unknown"):
        answer = send_cbor(database, "ListMetrics", b"\xa1" + cbor2.dumps(name) + value)
        assert answer.status == 400
        assert "tags" in cbor2.loads(answer.body)["message"]


@pytest.mark.parametrize("form", ["json", "cbor"])
@pytest.mark.parametrize("empty", [[], {}, [[]]])
def test_bodies_of_very_many_lists_are_refused_unread(database: Database, form: str, empty: Any) -> None:
    """900,000 empty lists held up all other clients for 0.26 s."""
    for count, is_refused in ((20_000, False), (60_000, True)):
        status, error, _ = ask(database, form, "ListMetrics", {"Unknown": [empty] * count})
        assert (status == 400) == is_refused
        if is_refused:
            assert "the body has more than 50,000 lists and structures" in error["message"]


def test_texts_of_cbor_may_have_the_bytes_of_very_many_lists(database: Database) -> None:
    members = {"Unknown": ["\u0100" * 100] * 1_000}
    assert ask(database, "cbor", "ListMetrics", members)[0] == 200


def test_texts_and_numbers_of_cbor_may_have_the_bytes_of_tags(database: Database) -> None:
    texts = ["é", "ß" * 23, "Ö" * 200, "Ø" * 255]
    (value,) = struct.unpack(">d", b"\x3f" + b"\xc4\xd8" * 3 + b"\xc5")
    metric = {"Namespace": "own/tags", "MetricName": "m", "Statistic": "Sum", "Period": 60, "EvaluationPeriods": 1}
    for place, text in enumerate(texts):
        alarm = {"AlarmName": f"alarm-{place}", "AlarmDescription": text, **metric, "Threshold": value}
        status, _, _ = ask(database, "cbor", "PutMetricAlarm", {**alarm, "ComparisonOperator": "GreaterThanThreshold"})
        assert status == 200
    _, found, _ = ask(database, "cbor", "DescribeAlarms", {"AlarmNamePrefix": "alarm-"})
    assert [(one["AlarmDescription"], one["Threshold"]) for one in found["MetricAlarms"]] == [
        (text, value) for text in texts
    ]
    time = datetime.fromtimestamp(database.clock.now(), UTC)
    datum = {"MetricName": "m", "Value": value, "Timestamp": time}
    assert ask(database, "cbor", "PutMetricData", {"Namespace": "own/tags", "MetricData": [datum]})[0] == 200


@pytest.mark.parametrize("form", FORMS)
def test_numbers_that_are_none_are_refused_in_every_form(database: Database, form: str) -> None:
    for text in ("NaN", "Infinity", "-Infinity"):
        value = float(text) if form == "cbor" else text
        datum = {"MetricName": "m", "Value": value}
        status, error, code = ask(database, form, "PutMetricData", {"Namespace": "own", "MetricData": [datum]})
        assert (status, code) == (400, "InvalidParameterValue")
        if form != "query":
            assert error["message"] == f"The value {text} for parameter MetricData.member.1.Value is invalid."


@pytest.mark.parametrize("value", [b"\xd8\x1c\x81\xd8\x1d\x00", b"\x5b" + b"\xff" * 8 + b"\xc4", b"\xc4", b"\x78"])
def test_cbor_that_ends_early_or_repeats_values_is_refused(database: Database, value: bytes) -> None:
    assert send_cbor(database, "ListMetrics", b"\xa1\x61a" + value).status == 400


@pytest.mark.parametrize("body", [b"[]", b"nothing", b'{"Namespace":1}', b"[" * 100_000, b"\xff", b'{"a"'])
def test_hostile_json_is_refused(database: Database, body: bytes) -> None:
    assert send_json(database, "PutMetricData", body).status == 400


def test_a_request_without_a_signature_is_refused(database: Database) -> None:
    answer = send_json(database, "ListMetrics", b"{}", Authorization="none")
    assert answer.status == 400
    assert json.loads(answer.body)["__type"] in {"MissingAuthenticationTokenException", "IncompleteSignatureException"}
