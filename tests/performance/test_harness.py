"""Do the benchmarks measure what they claim? A small share of `make bench`, without judging any figure."""

import os
import re
import shutil
from collections.abc import Iterator

import msgspec
import pytest

from benchmarks import second_process, stages
from benchmarks.generator import NoGenerator, require_generator
from benchmarks.inprocess import HOST, Bench, measure_in_process, parse
from benchmarks.items import ItemMaker
from benchmarks.loader import keys_of
from benchmarks.measure import Pace, Table, make_ready, measure
from benchmarks.prepare import prepare_requests, prepare_undo
from benchmarks.processes import Cores
from benchmarks.running import running
from benchmarks.searches import measure_searches
from benchmarks.servers import BY_NAME
from benchmarks.workloads import Plan, read_plan
from hashrange.items.sizes import item_size_bytes
from hashrange.items.values import check_item

ITEMS = 200
SOME = 60
PLAN = msgspec.structs.replace(read_plan(), requests_prepared=SOME)
KEY = re.compile(rb'"pk": ?\{"S": ?"([^"]+)"\}, ?"sk": ?\{"S": ?"([^"]+)"\}')
NAMES = [workload.name for workload in PLAN.workload]


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    bench = Bench(PLAN, 400, ITEMS)
    yield bench
    bench.close()


@pytest.mark.parametrize("size_bytes", PLAN.item_bytes)
def test_items_have_the_size_that_the_page_names(size_bytes: int) -> None:
    maker = ItemMaker(size_bytes, PLAN.sort_keys_per_partition)
    for number in (0, 19, 20, 9_999_999):
        item, size = check_item(msgspec.json.decode(maker.item(number)))
        assert size == item_size_bytes(item)
        assert abs(size - size_bytes) <= 4


@pytest.mark.parametrize("name", NAMES)
def test_the_same_workload_is_prepared_twice_alike(bench: Bench, name: str) -> None:
    first, second = bench.prepare(PLAN.named(name)), bench.prepare(PLAN.named(name))
    assert [parse(request).body for request in first.requests] == [parse(request).body for request in second.requests]
    assert first.units_per_request == second.units_per_request > 0


@pytest.mark.parametrize("name", NAMES)
def test_every_prepared_request_is_let_in_and_answered(bench: Bench, name: str) -> None:
    workload = PLAN.named(name)
    bench.answer([parse(request) for request in bench.prepare(workload).requests])  # raises unless each reply is 200
    if workload.undo:
        bench.answer([parse(one) for one in prepare_undo(PLAN, workload, bench.maker, ITEMS, HOST)])


def test_a_request_whose_signature_was_touched_is_refused(bench: Bench) -> None:
    request = bench.prepare(PLAN.named("get")).requests[0]
    with pytest.raises(AssertionError, match="InvalidSignatureException"):
        bench.answer([parse(request.replace(b"customer-", b"somebody-"))])


def items_of(operation: str, body: bytes) -> list[dict[str, dict[str, str]]]:
    """The items that a request writes."""
    decoded = msgspec.json.decode(body)
    match operation:
        case "TransactWriteItems":
            assert "ClientRequestToken" not in decoded  # a replay with a token would not be executed
            return [action["Put"]["Item"] for action in decoded["TransactItems"]]
        case "BatchWriteItem":
            return [action["PutRequest"]["Item"] for action in decoded["RequestItems"][PLAN.table]]
        case _:
            return [decoded["Item"]]


@pytest.mark.parametrize(
    "name", [one.name for one in PLAN.workload if one.keys == "twice" and one.operation != "UpdateItem"]
)
def test_replacing_writes_always_change_the_item_and_never_an_index_key(bench: Bench, name: str) -> None:
    """An unchanged item need not be written, so repeated puts of the same item would measure nothing."""
    workload = PLAN.named(name)
    stored: dict[str, dict[str, dict[str, str]]] = {}
    requests = bench.prepare(workload).requests
    for request in requests * 2:
        items = items_of(workload.operation, parse(request).body)
        assert len({item["pk"]["S"] + item["sk"]["S"] for item in items}) == workload.parts
        for item in items:
            key = item["pk"]["S"] + item["sk"]["S"]
            earlier = stored.get(key, {**item, "text": {"S": ""}})
            assert earlier != item
            assert all(earlier[name] == item[name] for index in PLAN.index for name in keys_of(index))
            stored[key] = item
    assert len(stored) == len(requests) // 2 * workload.parts


def test_an_update_of_an_index_key_always_changes_it(bench: Bench) -> None:
    statuses: dict[bytes, bytes] = {}
    for request in bench.prepare(PLAN.named("update-index-key")).requests * 2:
        body = parse(request).body
        [key], [status] = KEY.findall(body), re.findall(rb'":s": ?\{"S": ?"([^"]+)"', body)
        assert statuses.get(b"".join(key)) != status
        statuses[b"".join(key)] = status
    assert len(statuses) == SOME // 2


@pytest.mark.parametrize("name", [workload.name for workload in PLAN.workload if workload.undo])
def test_what_a_request_changes_is_changed_back_by_its_undo(bench: Bench, name: str) -> None:
    workload = PLAN.named(name)
    requests = bench.prepare(workload).requests
    undo = prepare_undo(PLAN, workload, bench.maker, ITEMS, HOST)
    assert [KEY.findall(one) for one in requests] == [KEY.findall(one) for one in undo]
    counted = {"TableName": PLAN.table_name(workload.indexes), "Select": "COUNT"}
    changed = ITEMS + (SOME if workload.keys == "new" else -SOME)
    for sent, expected in ((undo, ITEMS), (requests, changed), (undo, ITEMS)):
        bench.answer([parse(one) for one in sent])
        assert bench.call("Scan", counted)["Count"] == expected


@pytest.mark.parametrize("name", ["transact-write", "batch-write", "batch-get"])
def test_neighbours_in_the_circle_share_no_item(bench: Bench, name: str) -> None:
    """Requests that are under way at the same time must not conflict."""
    assert SOME % 2 == 0
    requests = bench.prepare(PLAN.named(name)).requests
    half = len(requests) // 2 if PLAN.named(name).keys == "twice" else len(requests)
    found = [key for request in requests[:half] for key in KEY.findall(parse(request).body)]
    assert len(found) == len(set(found)) == half * PLAN.named(name).parts


def test_figures_of_batches_speak_of_one_item(bench: Bench) -> None:
    units = {name: bench.prepare(PLAN.named(name)).units_per_request for name in NAMES if name != "scan"}
    assert {name: count for name, count in units.items() if count != 1} == {"batch-write": 25, "batch-get": 100}


def test_a_table_too_small_for_a_request_is_an_error(bench: Bench) -> None:
    with pytest.raises(AssertionError, match="a request of 100 items needs a table of more than 90"):
        prepare_requests(PLAN, PLAN.named("batch-get"), bench.maker, 90, HOST, bench)


def test_the_large_table_and_other_sizes_are_for_the_first_workloads_alone() -> None:
    new = {workload.name for workload in PLAN.workload if workload.is_compared_only}
    several = {one.name for one in PLAN.workload if one.indexes or one.parts > 1}
    assert new == several | {"query-long-filter", "put-new"}
    assert all(workload.indexes <= len(PLAN.index) for workload in PLAN.workload)


def test_keys_differ_within_a_workload(bench: Bench) -> None:
    for name in ("get", "update"):
        bodies = [parse(request).body for request in bench.prepare(PLAN.named(name)).requests]
        assert len(set(bodies)) == SOME


def test_a_query_reads_20_items_and_the_filter_some_of_them(bench: Bench) -> None:
    for name, expected in (("query", {20}), ("query-filtered", {8}), ("query-index", {20})):
        counts = set()
        for request in bench.prepare(PLAN.named(name)).requests:
            reply = bench.call("Query", msgspec.json.decode(parse(request).body))
            assert reply["ScannedCount"] == 20
            counts.add(reply["Count"])
        assert counts == expected


def test_a_scan_walks_whole_pages() -> None:
    bench = Bench(PLAN, 1000, 1500)  # 1.5 MB: one full page and the rest
    try:
        prepared = bench.prepare(PLAN.named("scan"))
        assert len(prepared.requests) == 1
        assert 1_000 <= prepared.units_per_request <= 1_100
    finally:
        bench.close()


def test_in_process_every_kind_has_a_figure() -> None:
    plan: Plan = msgspec.structs.replace(PLAN, item_bytes=(400,))
    figures = list(measure_in_process(plan, plan.workload, ITEMS, 0.0))
    assert [figure.workload for figure in figures] == [name for name in NAMES if name != "put-new"]
    assert all(figure.dispatch_us > 0 and figure.operation_us > 0 for figure in figures)


@pytest.mark.slow
def test_over_sockets_a_workload_has_a_figure() -> None:
    """The real server, checking signatures, on disk; load comes from wrk if it is installed."""
    pace = Pace(0, 1, Cores("", ""))
    with running(BY_NAME["ours-disk"], pace.cores) as server:
        table = Table(server.fill(PLAN, 400, ITEMS), 400, ITEMS)
        assert server.client.call("Scan", {"TableName": PLAN.table, "Select": "COUNT"})["Count"] == ITEMS
        assert server.ready_ms > 0
        assert server.process.resident_mb() > 1
        assert (server.disk_mb() or 0) > 0
        ready = make_ready(server, PLAN, PLAN.named("put-2-indexes"), table)
        counted = {"TableName": PLAN.table_name(2), "IndexName": PLAN.index[1].name, "Select": "COUNT"}
        assert server.client.call("Scan", counted)["Count"] == ITEMS
        if shutil.which("wrk") is None:
            assert ready.file.stat().st_size > sum(map(len, ready.prepared.requests))
        else:
            figure = measure(ready, 4, pace)
            assert figure.cpu_us > 0
            assert figure.units_per_second > 0
            assert 0 < figure.p50_ms <= figure.p99_ms <= figure.p999_ms
    assert not server.process.is_running()
    assert not server.folder.exists()


def test_searches_find_the_best_vectors() -> None:
    few = msgspec.structs.replace(PLAN.searched_vectors, items=60, dimensions=8, searches=5, writes=3)
    with running(BY_NAME["ours-memory"], Cores("", "")) as server:
        found = measure_searches(server, msgspec.structs.replace(PLAN, searched_vectors=few))
    assert (found.server, found.items, found.recall) == ("ours-memory", 60, 1)
    assert found.p50_ms > 0


def test_without_wrk_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "PATH", "")
    with pytest.raises(NoGenerator, match="apt-get install wrk"):
        require_generator()


def test_prepared_requests_name_the_host_that_they_are_sent_to(bench: Bench) -> None:
    prepared = prepare_requests(PLAN, PLAN.named("get"), bench.maker, ITEMS, HOST, bench)
    assert all(f"Host: {HOST}\r\n".encode() in request for request in prepared.requests)


def test_each_stage_of_a_request_is_timed(bench: Bench) -> None:
    for name in stages.WORKLOADS:
        timed = list(stages.stages_of(bench, PLAN.named(name)))
        assert len(timed) >= 5
        assert all(stage.us > 0 for stage in timed)


def test_what_a_second_process_could_carry_is_timed() -> None:
    figures = second_process.figures(msgspec.structs.replace(PLAN, table_items=ITEMS), times=16)
    assert len(figures) == 8
    assert all(us > 0 for _, us in figures)
