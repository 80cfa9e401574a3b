"""Steps of a front see each call of a request before and after the store, in their order, if it is awaited too."""

import gc
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec
import pytest

from hashrange.clock import SystemClock
from hashrange.errors import ApiError, ConditionalCheckFailedException, ItemRefusal, ResourceNotFoundException
from hashrange.items.types import Key, Row
from hashrange.operations.meter import NOTHING_USED, Meter
from hashrange.operations.operation import Scope
from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.operations.reply import Reply
from hashrange.service.call import Call
from hashrange.service.service import Service
from hashrange.settings import Settings
from hashrange.store.embedded import open_store
from hashrange.store.front import FrontStep, RequestMeter, SpanRead, in_front_of, tell_ended
from hashrange.store.interface import Page, Payer, Store, Transacted, TransactionRefused, TransactionStep
from hashrange.tables.change import Change, Plan
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.schema import IndexProjection, Table, VectorIndex
from hashrange.tables.span import Span
from hashrange.vectors.search import FoundEntries, VectorQuery
from tests.support.fronted import Fronted
from tests.support.samples import finish, row_of, table_maker
from tests.support.scopes import ACCOUNT, REGION
from tests.support.wrapped_stores.faulty import FaultyStore

KEY = {"pk": {"S": "a"}, "sk": {"S": "b"}}


class Telling(FrontStep):
    """A step that tells which of its methods is called; `after_…` get what `before_…` returned."""

    def __init__(self, name: str, told: list[str]) -> None:
        self.name, self._told = name, told

    def _tell(self, what: str, kept: object = None) -> str:
        assert kept in {None, self.name}
        self._told.append(f"{self.name} {what}")
        return self.name

    def before_get(self, meter: RequestMeter, source_id: bytes, key: Key, *, consistent: bool) -> str:
        return self._tell("before get")

    def after_get(
        self, meter: RequestMeter, kept: Any, source_id: bytes, key: Key, consistent: bool, row: Row | None
    ) -> Row | None:
        self._tell("after get", kept)
        return row

    def unread(self, meter: RequestMeter, source_id: bytes, key: Key, units: float) -> None:
        self._tell("unread")

    def before_page(self, meter: RequestMeter, read: SpanRead) -> str:
        return self._tell("before page")

    def after_page(self, meter: RequestMeter, kept: Any, read: SpanRead, page: Page) -> Page:
        self._tell("after page", kept)
        return page

    def before_search(self, meter: RequestMeter, table: OpenTable, source: ReadSource) -> str:
        return self._tell("before search_vectors")

    def after_search(self, meter: RequestMeter, kept: Any, found: FoundEntries) -> FoundEntries:
        self._tell("after search_vectors", kept)
        return found

    def before_mutate(self, meter: RequestMeter, table: OpenTable, key: Key, plan: Plan) -> tuple[Plan, str]:
        return plan, self._tell("before mutate")

    def after_mutate(self, meter: RequestMeter, kept: Any, change: Change) -> None:
        self._tell("after mutate", kept)

    def refused_mutate(self, meter: RequestMeter, table: OpenTable, key: Key, refusal: ItemRefusal) -> None:
        self._tell("refused mutate")

    def before_transact(
        self, meter: RequestMeter, steps: Sequence[TransactionStep]
    ) -> tuple[Sequence[TransactionStep], str]:
        return steps, self._tell("before transact")

    def after_transact(
        self, meter: RequestMeter, kept: Any, steps: Sequence[TransactionStep], transacted: Transacted
    ) -> None:
        self._tell("after transact", kept)

    def refused_transact(
        self, meter: RequestMeter, kept: Any, steps: Sequence[TransactionStep], refusal: TransactionRefused
    ) -> None:
        self._tell("refused transact", kept)

    def before_snapshot_get(self, meter: RequestMeter, places: Sequence[tuple[OpenTable, Key]]) -> None:
        self._tell("before snapshot_get")

    def after_snapshot_get(
        self, meter: RequestMeter, places: Sequence[tuple[OpenTable, Key]], rows: Sequence[Row | None]
    ) -> None:
        self._tell("after snapshot_get")

    def beside_requests(self, steps: Sequence[TransactionStep]) -> Sequence[TransactionStep]:
        self._tell("beside")
        return steps

    def ended(self, note: Any, call: Any) -> None:
        assert note is call
        self._tell("ended")


def refuse(old: Row | None) -> Row | None:
    raise ConditionalCheckFailedException("no", size_bytes=10)


@pytest.mark.parametrize("is_awaited", [False, True])
@pytest.mark.parametrize("acts_before", [False, True])
def test_the_first_step_hears_first_before_a_call_and_last_after_it(*, is_awaited: bool, acts_before: bool) -> None:
    table, store = made(is_awaited=is_awaited)
    told: list[str] = []
    telling = [Telling("first", told), Telling("second", told)]
    for step in telling:
        step.acts_before = acts_before
    before = ["first before", "second before"] if acts_before else []
    fronted, meter = in_front_of(store, telling), Fronted().meter
    calls = calls_of(fronted, table, meter)
    for name, call in calls.items():
        told.clear()
        finish(call())
        assert told == [f"{one} {name}" for one in (*before, "second after", "first after")]
    told.clear()
    fronted.unread(table.source_id, table.lookup_key(KEY), 1.0, meter)
    assert told == ["second unread", "first unread"]
    with pytest.raises(ConditionalCheckFailedException):
        finish(fronted.mutate(table, table.lookup_key(KEY), refuse, None, meter))
    with pytest.raises(TransactionRefused):
        finish(fronted.transact([TransactionStep(table, table.lookup_key(KEY), refuse)], None, None, meter))
    assert [one for one in told if "refused" in one] == [
        *("second refused mutate", "first refused mutate"),
        *("second refused transact", "first refused transact"),
    ]


@pytest.mark.parametrize("is_awaited", [False, True])
def test_calls_of_no_request_pass_no_step_but_their_writes_are_seen(*, is_awaited: bool) -> None:
    """So do those of a request that began before there was a front, whose meter tells of no request."""
    table, store = made(is_awaited=is_awaited)
    told: list[str] = []
    step = Telling("step", told)
    step.acts_before = True
    fronted = in_front_of(store, [step])
    meters: list[Payer] = [None, []]
    for meter in meters:
        for name, call in calls_of(fronted, table, meter).items():
            told.clear()
            finish(call())
            assert told == (["step beside"] if name in {"mutate", "transact"} else [])
        fronted.unread(table.source_id, table.lookup_key(KEY), 1.0, meter)
    assert told == []


def test_a_step_gets_back_what_it_remembers_when_the_request_ends() -> None:
    told: list[str] = []
    step, call = Telling("one", told), Fronted()
    assert step.note_of(call.meter) is None
    tell_ended(call, call.meter)
    assert told == []
    step.remember(call.meter, call)
    assert step.note_of(call.meter) is call
    tell_ended(call, call.meter)
    assert told == ["one ended"]
    assert step.note_of(call.meter) is None


class Quiet(Call, gc=False, eq=False):
    """A call of nobody."""

    def done(self, reply: Reply | None) -> None:
        pass

    def send(self) -> None:
        pass


@pytest.mark.parametrize("throughput", ["enforced", "unlimited"])
def test_a_meter_knows_its_request_while_there_is_a_front(throughput: Literal["enforced", "unlimited"]) -> None:
    """It does not hold its call, which holds it: the garbage collector does not see calls, and would keep the cycle."""
    clock, settings = SystemClock(), Settings(data_dir=None, throughput=throughput)
    service = Service(open_store(None, clock, None), ALL_OPERATIONS, clock, settings)
    service.features.put_in_front()
    seen: list[Any] = []
    get = ALL_OPERATIONS["GetItem"]

    def see(scope: Scope, request: Any, meter: Meter) -> Reply:
        seen.append(meter)
        return {}

    operation = msgspec.structs.replace(get, run=see)
    request = msgspec.convert({"TableName": "orders", "Key": KEY}, get.request)
    scope = service.scope(ACCOUNT, REGION)
    call = Quiet(scope, operation, request, NOTHING_USED, 0, False)
    service.run(deque([call]))
    (meter,) = seen
    if throughput == "unlimited":
        assert type(meter) is list
        return
    assert (meter.scope, meter.operation, meter.request, meter.notes) == (scope, operation, request, None)
    assert all(one is not call for one in gc.get_referents(meter))


class Unlucky(FrontStep):
    """A step that fails when a request ends."""

    def ended(self, note: Any, call: Any) -> None:
        raise RuntimeError("ended")


class Failing(Quiet, gc=False, eq=False):
    """A call that keeps the error that it fails with."""

    failure: BaseException | None = None

    def fail(self, error: BaseException) -> None:
        self.failure = error


@pytest.mark.parametrize("refusal", [None, ResourceNotFoundException("no table")])
def test_a_request_gets_a_reply_when_a_step_fails_at_its_end(refusal: ApiError | None) -> None:
    clock, step = SystemClock(), Unlucky()
    service = Service(
        open_store(None, clock, None), ALL_OPERATIONS, clock, Settings(data_dir=None, throughput="enforced")
    )
    service.features.put_in_front()
    get = ALL_OPERATIONS["GetItem"]

    def run(scope: Scope, request: Any, meter: Any) -> Reply:
        step.remember(meter, "note")
        if refusal is not None:
            raise refusal
        return {}

    request = msgspec.convert({"TableName": "orders", "Key": KEY}, get.request)
    operation = msgspec.structs.replace(get, run=run)
    call = Failing(service.scope(ACCOUNT, REGION), operation, request, NOTHING_USED, 0, False)
    service.run(deque([call]))
    assert str(call.failure) == "ended"


def calls_of(store: Store, table: OpenTable, meter: Payer) -> dict[str, Callable[[], Any]]:
    """Functions that call the methods of a store, by name."""
    key, source_id, row = table.lookup_key(KEY), table.source_id, row_of(100, b"{}")
    steps = [TransactionStep(table, key, lambda old: row)]
    query = VectorQuery(None, bytes(4), 1)
    return {
        "mutate": lambda: store.mutate(table, key, lambda old: row, None, meter),
        "get": lambda: store.get(source_id, key, meter, consistent=True),
        "page": lambda: store.page(source_id, Span(b"", b"\xff" * 9), 10, 1000, meter, consistent=True),
        "search_vectors": lambda: store.search_vectors(table, table.vector_sources[0], query, meter),
        "transact": lambda: store.transact(steps, None, None, meter),
        "snapshot_get": lambda: store.snapshot_get([(table, key)], 1000, meter),
    }


def made(*, is_awaited: bool) -> tuple[OpenTable, Store]:
    """A table with a vector index, and its store, which has to be awaited or not."""

    def make(table_id: int) -> Table:
        index = VectorIndex(1, "vix", "embedding", 1, "COSINE", IndexProjection("ALL"))
        return msgspec.structs.replace(table_maker("orders")(table_id), vector_indexes=(index,), next_index_id=2)

    inner = open_store(None, SystemClock(), None)
    table = finish(inner.catalog.create(make))
    assert table is not None
    return table, FaultyStore(inner) if is_awaited else inner
