"""Requests of very many members are read in pieces: other requests do not wait for them."""

import struct
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from random import Random
from types import SimpleNamespace
from typing import Any

import cbor2
import msgspec
import pytest

from hashrange.autoscaling.api.registry import SCALING_OPERATIONS
from hashrange.autoscaling.tracking import metric_queries
from hashrange.aws_services.operation import MemberFault, ServiceError
from hashrange.cloudwatch.api.put_metric_data import PutMetricDataRequest
from hashrange.cloudwatch.api.registry import METRIC_OPERATIONS
from hashrange.errors import Abandoned
from hashrange.items import steps
from hashrange.messages.aws_forms import NO_CBOR
from hashrange.server.protocols.aws_forms import requests
from hashrange.server.protocols.aws_forms.requests import CBOR_PIECE_BYTES, Named, Requests
from hashrange.server.protocols.aws_forms.shapes import MembersWrong, free_tree, tree_of, with_scalars
from hashrange.wire.shape import structure_of
from tests.support.working import blocks_between_looks, lines_between_looks

MEMBERS = 100_000
LOOKED_AT_MAX = 5_000
"""Python lines between two looks."""


OTHER_KEYS = {
    "lists": b"\x82\x01\x02",
    "numbers": b"\x01",
    "floats": b"\xf9\x3c\x00",
    "bytes": b"\x41a",
    "maps": b"\xa0",
    "times": b"\xc1\x01",
    "null": b"\xf6",
}
"""Keys of maps that are no texts."""


@pytest.mark.parametrize("key", OTHER_KEYS)
@pytest.mark.parametrize(
    "around",
    [
        lambda pair: b"\xa1" + pair,
        lambda pair: b"\xa2\x61a\x01" + pair,
        lambda pair: b"\xbf\x7f\x61a\x61b\xff\x01" + pair + b"\xff",
        lambda pair: b"\xa1\x61a\x82\x80\xa1" + pair,
        lambda pair: b"\xa2\x61a\x9f\xa0\xc1\x01\xff" + pair,
        lambda pair: b"\xa2\x78\x19" + b"a" * 25 + b"\xbf\xff" + pair,
        lambda pair: b"\xa1\x61a\xc1\x01" + b"\xa1" + pair,
    ],
    ids=["alone", "second", "until a break", "inside", "behind a list", "behind a long text", "behind the body"],
)
def test_keys_that_are_no_texts_are_refused_undecoded(
    key: str, around: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists as keys become tuples, whose hashes a client can choose: 287 KB took 6 s."""
    monkeypatch.setattr(cbor2, "CBORDecoder", None)
    with pytest.raises(MembersWrong) as refused:
        requests._cbor(around(OTHER_KEYS[key] + b"\x01"))
    assert refused.value.fault == MemberFault("type", "", NO_CBOR)


def test_bytes_in_very_many_pieces_are_refused_undecoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Joining 900,000 pieces took 84 ms in one step."""
    assert requests._cbor(b"\xa1\x61a\x5f" + b"\x41a" * 1_000 + b"\xff") == {"a": b"a" * 1_000}
    monkeypatch.setattr(cbor2, "CBORDecoder", None)
    for head in (b"\x5f", b"\x7f\x60\xff\x5f"):
        with pytest.raises(MembersWrong) as refused:
            requests._cbor(b"\xa1\x61a" + head + b"\x40" * MEMBERS + b"\xff\x01")
        assert refused.value.fault.kind == "value"


@pytest.mark.parametrize("seed", range(30))
def test_bodies_of_all_heads_are_read_as_the_library_reads_them(seed: int) -> None:
    random = Random(seed)

    def node(depth: int) -> bytes:
        kind = random.randrange(9 if depth < 5 else 6)
        if kind < 6:
            plain = (7, -(2**40), 1.5, "a" * random.choice((0, 23, 24, 300)), True, datetime(2026, 11, 29, tzinfo=UTC))
            return cbor2.dumps(plain[kind], datetime_as_timestamp=random.random() < 0.5)
        count, until_break = random.randrange(4), random.random() < 0.5
        if kind == 6:
            members, head = [node(depth + 1) for _ in range(count)], 4
        elif kind == 7:
            members, head = [cbor2.dumps(f"k{one}") + node(depth + 1) for one in range(count)], 5
        else:
            members, head, until_break = [cbor2.dumps("piece")] * count, 3, True
        begin = bytes([head << 5 | (31 if until_break else 26)])
        length = b"" if until_break else struct.pack(">I", count)
        return begin + length + b"".join(members) + (b"\xff" if until_break else b"")

    body = b"\xa1\x61a" + node(0)
    assert requests._cbor(body) == cbor2.loads(body)
    with pytest.raises(MembersWrong):
        requests._cbor(b"\xa2\x61a" + node(0) + b"\x80\x01")


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
            tree_of([(name, "x")], structure_of(PutMetricDataRequest))
        assert tracemalloc.get_traced_memory()[1] < len(name)
    finally:
        tracemalloc.stop()


DEEP_MEMBERS = 30_000
DEEP_NAMES = {
    "unknown": "{}.xy..........",
    "unknown inside": "MetricData.member.{}.xy.......",
    "of a leaf": "Namespace.{}.........",
    "of no list": "MetricData.{}.xy........",
    "of few": "StrictEntityValidation.{}.........",
}


def form_of(names: list[str]) -> bytes:
    return "&".join(name if "=" in name else f"{name}=ab" for name in names).encode()


def read_form(form: bytes) -> msgspec.Struct:
    served = next(one for one in METRIC_OPERATIONS if one.name == "PutMetricData")
    api: Any = None
    request: Any = SimpleNamespace(body=b"")
    return Requests([]).members(Named("query", api, served.name, form), served, request)


@pytest.mark.parametrize("case", DEEP_NAMES)
@pytest.mark.parametrize("last", ["Namespace=own", "Namespace" + "." * 12])
def test_very_many_names_of_many_levels_are_read_and_freed_in_pieces(case: str, last: str) -> None:
    """The tree of 50,000 names was freed in one step of up to 68 ms."""
    numbers = [f"{number // 100}.{number % 100}" if case == "of few" else number for number in range(DEEP_MEMBERS)]
    form = form_of([*(DEEP_NAMES[case].format(number) for number in numbers), last])

    def read() -> None:
        with suppress(MembersWrong):
            read_form(form)

    assert blocks_between_looks(read) < 2 * DEEP_MEMBERS


def test_a_long_form_is_freed_in_pieces_when_the_client_has_left() -> None:
    names = [f"MetricData.member.{number}" for number in range(DEEP_MEMBERS)]
    tree = tree_of([(name, "x") for name in names], structure_of(PutMetricDataRequest))
    lists = tree["MetricData"]["member"]
    before = steps._look

    def leave() -> None:
        raise Abandoned

    steps._look = leave
    try:
        free_tree(tree)
    finally:
        steps._look = before
    assert not tree
    assert not lists


PRESENT = ["Namespace=own", "MetricData.member.1.MetricName=m", "MetricData.member.1.Value=5"]


@pytest.mark.parametrize(
    "unknown",
    [
        ["Other=1", "Other.member.1=1"],
        ["Other.member.1=1", "Other=1"],
        ["MetricData.member.1.Other=1", "MetricData.member.1.Other.a=1"],
        ["MetricData.member.1.Other.a=1", "MetricData.member.1.Other=1"],
    ],
)
def test_unknown_names_are_passed_over_as_values_and_as_structures(unknown: list[str]) -> None:
    assert read_form(form_of([*unknown, *PRESENT, *unknown])) == read_form(form_of(PRESENT))


def test_a_structure_exists_if_it_has_only_unknown_members() -> None:
    with pytest.raises(MembersWrong) as refused:
        read_form(form_of([*PRESENT, "MetricData.member.2.Other.a=1"]))
    assert refused.value.fault.kind == "missing"
    assert refused.value.fault.path == "MetricData.2.MetricName"


MANY = {f"k{number}": "v" for number in range(MEMBERS)}
SOME = dict([*MANY.items()][: MEMBERS // 3])
LONG_BODIES: dict[str, tuple[str, dict[str, Any]]] = {
    "a map": ("TagResource", {"ResourceARN": "arn", "Tags": MANY}),
    "unknown": ("ListMetrics", MANY | {"Namespace": "shop"}),
    "unknown inside": ("ListMetrics", {"Dimensions": [SOME | {"Name": "a"}], "other": SOME, "another": [SOME]}),
}


def read_json(operation: str, members: dict[str, Any]) -> msgspec.Struct:
    served = next(one for one in (*METRIC_OPERATIONS, *SCALING_OPERATIONS) if one.name == operation)
    api: Any = None
    request: Any = SimpleNamespace(
        body=msgspec.json.encode(members), layout=SimpleNamespace(content_encoding=-1), header=lambda _: None
    )
    return Requests([]).members(Named("json", api, operation), served, request)


@pytest.mark.parametrize("case", LONG_BODIES)
def test_json_of_very_many_members_is_read_and_freed_in_pieces(case: str) -> None:
    """1 MB was one step of up to 0.16 s, and 2 MB of 0.23 s."""
    operation, members = LONG_BODIES[case]
    read: list[msgspec.Struct] = []
    assert blocks_between_looks(lambda: read.append(read_json(operation, members))) < MEMBERS // 5
    assert read[0] == msgspec.convert(members, type(read[0]))


@pytest.mark.parametrize("number", [0, MEMBERS // 2, MEMBERS])
def test_a_wrong_member_among_very_many_is_told_as_among_few(number: int) -> None:
    faults = []
    for count in (0, MEMBERS):
        tags: dict[str, Any] = {f"k{one}": "v" for one in range(min(number, count))} | {"wrong": 5}
        tags |= {f"k{one}": "v" for one in range(number, count)}
        with pytest.raises(MembersWrong) as refused:
            read_json("TagResource", {"ResourceARN": "arn", "Tags": tags})
        faults.append(refused.value.fault)
    assert faults[0] == faults[1]
    assert faults[0].kind == "type"


def test_very_many_metrics_of_a_policy_are_counted_before_they_are_read() -> None:
    """49,000 were one step of up to 0.16 s."""

    def read() -> None:
        with pytest.raises(ServiceError, match="must not have more than 10 metrics"):
            metric_queries([{"Id": 1}] * MEMBERS)

    assert lines_between_looks(read) < LOOKED_AT_MAX
    assert [one["Id"] for one in metric_queries([{"Id": f"e{one}", "Expression": "1"} for one in range(20)])]
