"""The table of destinations is read as a whole before anything is sent;
each fault names the ARN, the reason and the remedy.
"""

import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from hashrange.messages.destinations import EXAMPLES
from hashrange.settings import SettingUnusable
from hashrange.triggers import destinations as destinations_module
from hashrange.triggers.destinations import (
    DestinationsError,
    read_destinations,
    send_to_bucket,
    send_to_queue,
    send_to_topic,
    send_to_url,
    write_object,
)
from hashrange.wire.outgoing_signature import OutgoingSigner

SQS_ARN = "arn:aws:sqs:eu-west-1:000000000000:failed"
SNS_ARN = "arn:aws:sns:eu-west-1:000000000000:failed"
S3_ARN = "arn:aws:s3:::failed"


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def one(arn: str, **place: Any) -> Any:
    found = read_destinations({arn: place})
    assert list(found) == [arn]
    return found[arn]


# --- what can be used ---------------------------------------------------------------------------


def test_a_queue_is_asked_at_its_endpoint_by_its_url() -> None:
    url = "http://127.0.0.1:9324/000000000000/failed"
    found = one(SQS_ARN, sqs=url)
    assert found.func is send_to_queue
    target, queue_url, signer = found.args
    assert (queue_url, target.path, target.port) == (url, "/", 9324)
    assert signer == OutgoingSigner("test", "test", "eu-west-1", "sqs")


def test_a_topic_is_asked_by_its_arn() -> None:
    found = one(SNS_ARN, sns="https://sns.local/prefix", access_key="AKID", secret_key="hidden")
    assert found.func is send_to_topic
    target, topic_arn, signer = found.args
    assert (topic_arn, target.path, target.port) == (SNS_ARN, "/prefix", 443)
    assert signer == OutgoingSigner("AKID", "hidden", "eu-west-1", "sns")


@pytest.mark.parametrize(
    ("path", "expected"), [("/bucket", "/bucket"), ("/bucket/", "/bucket"), ("/b/c%20d", "/b/c%20d")]
)
def test_a_bucket_is_a_path(path: str, expected: str) -> None:
    found = one(S3_ARN, s3=f"http://127.0.0.1:9000{path}")
    assert found.func is send_to_bucket
    target, access_key, secret_key = found.args
    assert (target.path, access_key, secret_key) == (expected, "test", "test")


@pytest.mark.parametrize(("arn", "has_event"), [(SQS_ARN, False), (SNS_ARN, False), (S3_ARN, True)])
def test_any_arn_may_have_a_url_or_a_file(arn: str, has_event: bool) -> None:
    url = one(arn, http="http://127.0.0.1:8080/failed?a=b")
    assert url.func is send_to_url
    (target,) = url.args
    assert (target.path, url.keywords) == ("/failed?a=b", {"has_event": has_event})
    append, path = one(arn, file="./failed.jsonl").args
    assert (append.keywords, path) == ({"has_event": has_event}, os.path.join(os.getcwd(), "failed.jsonl"))


def test_a_folder_is_that_of_the_time_of_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = one(S3_ARN, folder="failed")
    monkeypatch.chdir("/")
    assert found.args == (write_object, str(tmp_path / "failed"))


def test_reading_makes_and_sends_nothing(tmp_path: Path) -> None:
    found = read_destinations(
        {SQS_ARN: {"file": "failed.jsonl"}, S3_ARN: {"folder": "failed"}, SNS_ARN: {"sns": "http://127.0.0.1:1"}}
    )
    assert list(found) == [SQS_ARN, S3_ARN, SNS_ARN]
    assert not list(tmp_path.iterdir())
    assert read_destinations({}) == {}


@pytest.mark.parametrize(
    "arn",
    [
        "arn:aws:sqs:local:000000000000:a",
        "arn:aws-cn:sns:cn-north-1:123456789012:Topic_1-a",
        "arn:aws-us-gov:s3:::my.bucket-1",
    ],
)
def test_arns_of_other_partitions_and_regions(arn: str) -> None:
    assert one(arn, http="http://127.0.0.1:1/")


def test_the_documented_table_can_be_read() -> None:
    text = (destinations_module.__doc__ or "").split("\n\n")[1]
    document = tomllib.loads(re.sub("^    ", "", text, flags=re.MULTILINE).replace("…", "key"))
    assert len(read_destinations(document["destinations"])) == 4


@pytest.mark.parametrize("kind", EXAMPLES)
def test_the_examples_in_messages_can_be_used(kind: str) -> None:
    arn = {"sqs": SQS_ARN, "sns": SNS_ARN}.get(kind, S3_ARN)
    place = tomllib.loads(f"place = {EXAMPLES[kind]}")["place"]
    assert list(place) == [kind]
    assert one(arn, **place)


# --- what cannot be used ------------------------------------------------------------------------


def reason_of(arn: str, place: Any) -> str:
    """The message, without its beginning, which names the ARN."""
    with pytest.raises(DestinationsError) as caught:
        read_destinations({SNS_ARN: {"file": "failed.jsonl"}, arn: place})
    message = str(caught.value)
    assert isinstance(caught.value, SettingUnusable)
    assert message.startswith(f"the destination {arn!r} cannot be used: ")
    assert re.search(r"[.?] (Write|Give|Name|Choose|Leave|Make) .*\.$|is no URL of the form ", message), "no remedy"
    return message.partition(" cannot be used: ")[2]


@pytest.mark.parametrize(
    "arn",
    [
        "",
        "failed",
        "arn:aws:sqs:eu-west-1:000000000000:failed.fifo",
        "arn:aws:sns:eu-west-1:000000000000:failed.fifo",
        "arn:aws:sqs:eu-west-1:failed",
        "arn:aws:sqs:eu-west-1:0000:failed",
        "arn:aws:sqs::000000000000:failed",
        "arn:aws:sqs:eu-west-1:000000000000:failed\n",
        "arn:aws:sns:eu-west-1:000000000000:failed:subscription",
        "arn:aws:s3:eu-west-1:000000000000:failed",
        "arn:aws:s3:::failed/folder",
        "arn:aws:lambda:eu-west-1:000000000000:function:failed",
        "arn:aws:events:eu-west-1:000000000000:event-bus/failed",
        "kafka://failed",
    ],
)
def test_arns_of_what_is_no_destination(arn: str) -> None:
    assert reason_of(arn, {"http": "http://127.0.0.1:1/"}).startswith("It is not the ARN of a queue, topic or bucket")


@pytest.mark.parametrize(
    ("arn", "place", "reason"),
    [
        (SQS_ARN, {}, "It needs one place for the messages of an ARN of sqs. Write one of { sqs = "),
        (SQS_ARN, {"sqs": "http://a/0/b", "file": "a"}, "It needs one place for the messages of an ARN of sqs."),
        (SQS_ARN, {"sns": "http://a/"}, "It needs one place for the messages of an ARN of sqs."),
        (SQS_ARN, {"folder": "a"}, "It needs one place for the messages of an ARN of sqs."),
        (S3_ARN, {"sqs": "http://a/0/b"}, "It needs one place for the messages of an ARN of s3."),
        (SQS_ARN, "http://a/", 'it is "http://a/"; it must be a table. Write one of { sqs = '),
        (
            SQS_ARN,
            {"url": "http://a/"},
            (
                "it has no member url. Its members are access_key, file, folder, http, s3, secret_key, sns, sqs."
                " Write one of { sqs = "
            ),
        ),
        (SQS_ARN, {"sqss": "http://a/"}, "it has no member sqss. Did you mean sqs? Write one of { sqs = "),
        (SQS_ARN, {"sqs": 1}, "sqs is 1; it must be text of 1 to 2,000 characters. Write one of "),
        (SQS_ARN, {"sqs": ""}, 'sqs is ""; it must be text of 1 to 2,000 characters. Write one of '),
        (SQS_ARN, {"sqs": "9324"}, "'9324' is no URL of the form http://host:port/path"),
        (
            SQS_ARN,
            {"sqs": "http://127.0.0.1:9324"},
            "'http://127.0.0.1:9324' must end with the path of a queue or bucket.",
        ),
        (
            S3_ARN,
            {"s3": "http://127.0.0.1:9000//"},
            "'http://127.0.0.1:9000//' must end with the path of a queue or bucket.",
        ),
        (
            S3_ARN,
            {"s3": "http://127.0.0.1:9000/b?c"},
            "'http://127.0.0.1:9000/b?c' must end with the path of a queue or bucket.",
        ),
        (SQS_ARN, {"http": "ftp://a/"}, "'ftp://a/' is no URL of the form"),
        (SQS_ARN, {"sqs": "http://a/0/b", "access_key": "a"}, "Of access_key and secret_key, one is missing."),
        (SQS_ARN, {"sqs": "http://a/0/b", "secret_key": "a"}, "Of access_key and secret_key, one is missing."),
        (
            SQS_ARN,
            {"sqs": "http://a/0/b", "access_key": "a b", "secret_key": "c"},
            "Its access_key cannot stand in a signature.",
        ),
        (SQS_ARN, {"sqs": "http://a/0/b", "access_key": "a\r\nX: b", "secret_key": "c"}, "Its access_key cannot stand"),
        (
            SQS_ARN,
            {"http": "http://a/", "access_key": "a", "secret_key": "c"},
            "Requests are signed for sqs, sns and s3 only, not",
        ),
        (SQS_ARN, {"file": "."}, "'.' is no file. Name another one."),
        (SQS_ARN, {"file": "no/failed.jsonl"}, "'no/failed.jsonl' cannot be made, because there is no folder "),
        (SQS_ARN, {"file": "a\0b"}, "Its path is empty or has a null character."),
        (S3_ARN, {"folder": "no/failed"}, "'no/failed' cannot be made, because there is no folder "),
    ],
)
def test_places_that_cannot_be_used(arn: str, place: Any, reason: str) -> None:
    assert reason_of(arn, place).startswith(reason)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    assert reason_of(S3_ARN, {"folder": "taken"}) == "'taken' is no folder. Name another one."


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such files")
def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert reason_of(SQS_ARN, {"file": "pipe"}) == "'pipe' is no file. Name another one."
