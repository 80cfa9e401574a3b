"""Requests of very many members are read in pieces: other requests do not wait for them."""

import struct
import tracemalloc
from collections.abc import Iterator

import cbor2
import pytest

from hashrange.cloudwatch.api.put_metric_data import PutMetricDataRequest
from hashrange.cloudwatch.api.registry import METRIC_OPERATIONS
from hashrange.errors import Abandoned
from hashrange.items import steps
from hashrange.server.protocols.aws_forms import requests
from hashrange.server.protocols.aws_forms.requests import CBOR_PIECE_BYTES, Requests
from hashrange.server.protocols.aws_forms.shapes import MembersWrong, tree_of, with_scalars
from hashrange.wire.shape import structure_of
from tests.support.working import lines_between_looks

MEMBERS = 100_000
LOOKED_AT_MAX = 5_000
"""Python lines between two looks."""


@pytest.fixture
def looks() -> Iterator[list[None]]:
    found: list[None] = []
    before = steps._look, steps._queue
    steps._look, steps._queue = lambda: found.append(None), None
    yield found
    steps._look, steps._queue = before


def array_of(member: bytes) -> bytes:
    return b"\x9a" + struct.pack(">I", MEMBERS) + member * MEMBERS


@pytest.mark.parametrize(
    "body",
    [
        array_of(b"\x60"),
        array_of(b"\x61a"),
        array_of(b"\x01"),
        array_of(b"\xc1\x00"),
        b"\x7f" + b"\x61a" * MEMBERS + b"\xff",
        cbor2.dumps({str(number): 1 for number in range(MEMBERS)}),
    ],
    ids=["empty texts", "texts", "numbers", "times", "pieces of a text", "keys"],
)
def test_a_body_of_very_many_scalars_gives_way_at_each_piece(body: bytes, looks: list[None]) -> None:
    """0.9 MB were one step of up to 118 ms."""
    assert requests._cbor(body) == cbor2.loads(body)
    assert len(looks) >= len(body) // CBOR_PIECE_BYTES


def test_the_decoding_ends_when_the_client_has_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def leave() -> None:
        raise Abandoned

    monkeypatch.setattr(steps, "_queue", None)
    monkeypatch.setattr(steps, "_look", leave)
    with pytest.raises(Abandoned):
        requests._cbor(b"\x9f" + b"\x01" * CBOR_PIECE_BYTES + b"\xff")


def test_very_many_names_give_way() -> None:
    names = dict.fromkeys(map(str, range(MEMBERS)), 1)
    served = next(one for one in METRIC_OPERATIONS if one.name == "PutMetricData")

    def read() -> None:
        with pytest.raises(MembersWrong):
            Requests([]).struct(served, {"MetricData": [names], **names})

    assert lines_between_looks(read) < LOOKED_AT_MAX


@pytest.mark.parametrize("value", [0, -(2**63), 2**63 - 1, 2**53 + 1, 2**63, 2**64 - 1, True, 10**400])
def test_integers_become_the_floats_that_msgspec_makes_of_them(value: int) -> None:
    served = next(one for one in METRIC_OPERATIONS if one.name == "PutMetricData")
    members = {"Namespace": "own", "MetricData": [{"MetricName": "m", "Values": [value]}]}
    if value is True or value == 10**400:
        with pytest.raises(MembersWrong):
            Requests([]).struct(served, members)
        return
    if -(2**63) <= value < 2**63:
        (datum,) = with_scalars(members, structure_of(served.request))["MetricData"]
        assert type(datum["Values"][0]) is float, "msgspec has none to convert"
    request = Requests([]).struct(served, members)
    assert isinstance(request, PutMetricDataRequest)
    assert request.MetricData is not None
    assert request.MetricData[0].Values == [float(value)]


def test_a_name_of_very_many_levels_is_refused_before_it_is_parted() -> None:
    """990,000 dots took 100 to 300 ms in one step, and 8 MB."""
    name = "A" + "." * MEMBERS
    tracemalloc.start()
    try:
        with pytest.raises(MembersWrong):
            tree_of([(name, "x")])
        assert tracemalloc.get_traced_memory()[1] < len(name)
    finally:
        tracemalloc.stop()
