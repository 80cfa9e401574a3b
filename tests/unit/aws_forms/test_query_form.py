"""Forms are read as the standard library reads them, but in pieces: a long one holds up no other request."""

import random
from collections.abc import Callable
from urllib.parse import parse_qsl

import pytest

from hashrange.cloudwatch.api.put_metric_data import PutMetricDataRequest
from hashrange.limits import SERVICE_BODY_BYTES_MAX, SERVICE_QUERY_MEMBERS_MAX
from hashrange.server.protocols.aws_forms import query_form
from hashrange.server.protocols.aws_forms.query_form import member_in, pairs_in
from hashrange.server.protocols.aws_forms.shapes import from_tree, tree_of
from hashrange.wire.shape import structure_of
from tests.support.working import lines_between_looks

PARTS = (b"a", b"%41", b"%", b"%4", b"%zz", b"&", b"=", b"+", b"%C3%A9", b"\xc3\xa9", b"%ff", b";", b"Action=", b"%26")
VALUES = b"&".join(
    b"MetricData.member.%d.Values.member.%d=%%31%%2e5" % (number // 49 + 1, number % 49 + 1) for number in range(8_000)
)
PUT_METRIC_DATA = structure_of(PutMetricDataRequest)
LONG_FORM = b"Action=PutMetricData&Namespace=own&" + VALUES


def as_the_library(form: bytes) -> list[tuple[str, str]] | None:
    try:
        return parse_qsl(form.decode(), keep_blank_values=True, errors="strict")
    except ValueError:
        return None


@pytest.mark.parametrize("piece_bytes", [3, 5, 4_096])
def test_forms_are_read_as_the_library_reads_them(monkeypatch: pytest.MonkeyPatch, piece_bytes: int) -> None:
    monkeypatch.setattr(query_form, "PIECE_BYTES", piece_bytes)
    chance = random.Random(piece_bytes)
    for _ in range(3_000):
        form = b"".join(chance.choices(PARTS, k=chance.randrange(15)))
        assert pairs_in(form) == as_the_library(form), form


@pytest.mark.parametrize(
    ("form", "action"),
    [
        (b"Action=a", "a"),
        (b"Action=a&Action=b%20+c&x=1", "b  c"),
        (b"xAction=a", None),
        (b"x=Action=a", None),
        (b"x=1&Action=", ""),
        (b"", None),
        (b"Action=" + b"a" * 5_000, "a" * query_form.NAME_BYTES_MAX),
    ],
)
def test_the_operation_is_found_without_reading_the_form(form: bytes, action: str | None) -> None:
    assert member_in(form, b"Action") == action


def test_forms_have_limits() -> None:
    assert pairs_in(b"&" * SERVICE_QUERY_MEMBERS_MAX) is None
    assert pairs_in(b"a" * (SERVICE_BODY_BYTES_MAX + 1)) is None


@pytest.mark.parametrize(
    "work",
    [
        lambda: member_in(LONG_FORM, b"Version"),
        lambda: pairs_in(LONG_FORM),
        lambda: pairs_in(b"a=" + b"%41" * 60_000),
        lambda: tree_of(pairs_in(LONG_FORM) or [], PUT_METRIC_DATA),
        lambda: from_tree(tree_of(pairs_in(LONG_FORM) or [], PUT_METRIC_DATA), PUT_METRIC_DATA),
    ],
    ids=["operation", "pairs", "one long value", "tree", "members"],
)
def test_a_long_form_is_read_in_pieces(work: Callable[[], object]) -> None:
    """A form of 2 MB was read at once and twice, before its signature was looked at:
    200 ms in which no other client was served.
    """
    assert lines_between_looks(work) < 15_000
