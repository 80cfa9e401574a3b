"""In which metrics does a call count that has ended, or a change that was sent to Kinesis, and with which values?
The counting rules of the service.

Units are those of the meter, so they agree with ConsumedCapacity; the value of a request is what it consumed of one
table or index. Source: global-tables-backup.md 9, counting rules; developer guide, metrics and dimensions.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hashrange.cloudwatch.dynamodb.definitions import MEASURED_OPERATIONS, TYPED_OPERATIONS
from hashrange.cloudwatch.dynamodb.gauges import place_of_table
from hashrange.cloudwatch.dynamodb.metric_ids import (
    Place,
    account_metric,
    consumed_metric,
    delegated_metric,
    operation_metrics,
    table_metric,
    vector_metric,
)
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.errors import THROTTLED, ApiError, InternalServerError, Malformed
from hashrange.expressions.partiql.statement import compile_statement
from hashrange.items.steps import spend
from hashrange.operations.meter import Meter, SearchUsage
from hashrange.operations.naming import bare_name
from hashrange.operations.partiql.statements import statement_tables
from hashrange.operations.reply import Reply
from hashrange.operations.streams.iterators import arn_of_iterator
from hashrange.service.call import Call
from hashrange.service.metric_counts import LATENCY, MILLISECONDS_PER_SECOND, RETURNED_ITEMS, Counts
from hashrange.tables.capacity import VectorBytes
from hashrange.tables.open_table import OpenTable
from hashrange.tables.throttling import ThrottleEvent

if TYPE_CHECKING:
    from hashrange.triggers.kinesis.observation import DeliveryObservation

USER_ERRORS = "UserErrors"
USER_STATUS = 400
NO_USER_ERRORS = {"ConditionalCheckFailedException", "ProvisionedThroughputExceededException"}
"""Codes of errors with the status 400 that do not count as UserErrors."""
THROTTLED_PARTS = {"ProvisionedThroughputExceeded", "ThrottlingError", "RequestLimitExceeded"}
"""Codes of throttled actions of a transaction, and of throttled statements of a batch."""
ConsumedUnits = dict[tuple[OpenTable, str | None, bool], float]
"""Table, global index or None for the table itself, and True for writes → units."""
_VERBS = {verb: f"PartiQL{verb.capitalize()}" for verb in ("SELECT", "INSERT", "UPDATE", "DELETE")}
"""First word of a statement → value of the dimension Verb."""


def count_success(counts: Counts, call: Call, reply: Reply | None, microseconds: int) -> None:
    """Count a call that succeeded after this time, but for its units."""
    name, request = call.operation.name, call.request
    if name not in MEASURED_OPERATIONS:
        return
    meter = call.meter
    names = [meter[0].table.name] if name == "ExecuteStatement" and meter else _tables(call)
    for metric in _metrics(call, LATENCY, names):
        counts.add(metric, microseconds)
    if reply is None:
        return
    if name in {"Query", "Scan"}:
        _count_of_operation(counts, call, RETURNED_ITEMS, names, float(reply["Count"]))
    elif name == "SearchVectors":
        _count_of_operation(counts, call, RETURNED_ITEMS, names, float(len(reply["SearchResults"])))
        _count_search(counts, meter)
    elif name == "ExecuteStatement" and _verb(request) == "SELECT":
        _count_of_operation(counts, call, RETURNED_ITEMS, names, float(len(reply["Items"])))
    elif name == "GetRecords":
        records = reply["Records"]
        _count_of_operation(counts, call, "ReturnedRecordsCount", names, float(len(records)))
        size_bytes = sum([len(record) for _, record in records])
        _count_of_operation(counts, call, "ReturnedBytes", names, float(size_bytes))
    elif name == "BatchExecuteStatement":
        _count_statements(counts, call, reply["Responses"])


def count_refusal(counts: Counts, call: Call, error: ApiError) -> None:
    """Count a call that was refused with this error, but for its units, and for UserErrors."""
    code = error.code
    if code == "ConditionalCheckFailedException":
        _count_of_tables(counts, call, "ConditionalCheckFailedRequests", _tables(call))
    elif code == "TransactionConflictException":
        _count_conflicts(counts, call, _tables(call))
    elif code == "TransactionCanceledException":
        _count_reasons(counts, call, error.members)
    elif isinstance(error, THROTTLED):
        _count_of_operation(counts, call, "ThrottledRequests", _tables(call))
    elif isinstance(error, InternalServerError):
        count_induced_error(counts, call, _tables(call))


def count_failure(counts: Counts, call: Call) -> None:
    """Count a call that met an internal error, but for its units."""
    if call.request is not None:
        _count_of_operation(counts, call, "SystemErrors", _tables(call))


def count_induced_error(counts: Counts, call: Call, tables: Iterable[str]) -> None:
    """Count a call to which a fault gave the status 500."""
    names = tuple(tables)
    _count_of_operation(counts, call, "SystemErrors", names)
    _count_of_operation(counts, call, "FaultInjectionServiceInducedErrors", names)


def is_user_error(error: ApiError) -> bool:
    """True if a request that was refused with this error counts as the client's fault."""
    return error.http_status == USER_STATUS and error.code not in NO_USER_ERRORS


def user_errors(place: Place) -> MetricId:
    """The metric of requests that were the fault of this place's clients."""
    return account_metric(place, USER_ERRORS)


def count_throttle_event(counts: Counts, event: ThrottleEvent) -> None:
    """Count one throttled part of a request."""
    place, kind = place_of_table(event.table.schema), "Write" if event.is_write else "Read"
    limit = event.limit.removesuffix("Exceeded")
    for name in (f"{kind}ThrottleEvents", f"{kind}{limit}ThrottleEvents"):
        counts.add(table_metric(place, name, event.table.name, event.index_name))


def units_of(meter: Meter) -> ConsumedUnits:
    """What a request consumed of each table and global index; gives way. Local indexes use their table's units.

    Searches of vector indexes consume no units.
    """
    sums: ConsumedUnits = {}
    for usage in meter:
        if usage.__class__ is SearchUsage:
            continue
        table, is_write, own = usage.table, usage.is_write, usage.table_units
        if of_indexes := usage.index_units:
            spend(len(of_indexes))
            for index, units in of_indexes:
                if index.is_global:
                    key = (table, index.name, is_write)
                    sums[key] = sums.get(key, 0.0) + units
                else:
                    own += units
            if not own:
                continue
        own_key = (table, None, is_write)
        sums[own_key] = sums.get(own_key, 0.0) + own
    return sums


def count_units(counts: Counts, consumed: ConsumedUnits, meter: Meter) -> None:
    """Count what a request consumed: one value for each table and global index; also the bytes for which its writes are
    charged, one value for each vector index.
    """
    for (table, index_name, is_write), units in consumed.items():
        counts.add(consumed_metric(place_of_table(table.schema), table.name, index_name, is_write=is_write), units)
        if is_write and index_name is None and table.vector_sources:
            count_vector_bytes(counts, table, _charged_bytes(table, meter))


def _charged_bytes(table: OpenTable, meter: Meter) -> VectorBytes:
    sums: VectorBytes = {}
    for usage in meter:
        if usage.table is table:
            for name, size_bytes in usage.vector_bytes.items():
                sums[name] = sums.get(name, 0) + size_bytes
    return sums


def count_vector_bytes(counts: Counts, table: OpenTable, charged: VectorBytes) -> None:
    """Count the bytes for which a request's writes are charged: one value for each vector index."""
    place = place_of_table(table.schema)
    for name, size_bytes in charged.items():
        counts.add(vector_metric(place, table.name, name, is_write=True), float(size_bytes))


# --- what a request names -------------------------------------------------------------------------


def _place(call: Call) -> Place:
    return Place(call.scope.account, call.scope.region)


def _tables(call: Call) -> Sequence[str]:
    """Names of the tables in the request, each once.
    Only those that exist, so that no client makes metrics of invented names.
    """
    names = dict.fromkeys([bare_name(name) for name in call.operation.tables(call.request)])
    if call.operation.name == "GetRecords":
        return list(names)  # a stream outlives its table
    return [name for name in names if name in call.scope.tables]


def _metrics(call: Call, metric_name: str, tables: Iterable[str]) -> list[MetricId]:
    """Each metric of this name, of operations, in which a request to these tables counts."""
    name, request, place = call.operation.name, call.request, _place(call)
    kind = verb = stream = None
    if request is None:  # it has been dropped, because only its reply was left to be sent
        pass
    elif name == "ExecuteStatement":
        verb = verb_of(request)
    elif name in TYPED_OPERATIONS:
        statements = request.TransactStatements if name == "ExecuteTransaction" else request.Statements
        kind = "Read" if statements and _verb(statements[0]) == "SELECT" else "Write"
    elif name == "GetRecords":
        stream = arn_of_iterator(request.ShardIterator).rpartition("/")[2]
    return [
        metric
        for table in tables
        for metric in operation_metrics(metric_name, place, table, name, kind=kind, verb=verb, stream=stream)
    ]


def verb_of(request: Any) -> str | None:
    """The value of the dimension Verb for a request of ExecuteStatement; None if its statement has faults."""
    return _VERBS.get(_verb(request))


def _verb(statement: Any) -> str:
    """The first word of a statement; empty if it has faults.
    One that begins with a comment is compiled, which is cached.
    """
    word: str = statement.Statement.lstrip()[:6].upper()
    if word in _VERBS:
        return word
    try:
        return compile_statement(statement.Statement, statement.Parameters).kind
    except (ApiError, Malformed):
        return ""


# --- counting -------------------------------------------------------------------------------------


def _count_search(counts: Counts, meter: Meter) -> None:
    """Count the bytes that a search has read."""
    (usage,) = meter
    assert isinstance(usage, SearchUsage), "a search records a usage of its own"
    place = place_of_table(usage.table.schema)
    metric = vector_metric(place, usage.table.name, usage.index_name, is_write=False)
    counts.add(metric, float(usage.search_bytes))


def _count_of_tables(counts: Counts, call: Call, name: str, tables: Iterable[str]) -> None:
    place = _place(call)
    for table in tables:
        counts.add(table_metric(place, name, table))


def _count_conflicts(counts: Counts, call: Call, tables: Iterable[str]) -> None:
    """Count the conflicts of one request, given the table of each item in conflict:
    one value for each table, the number of its items.
    """
    place = _place(call)
    for table, items in Counter(tables).items():
        counts.add(table_metric(place, "TransactionConflict", table), float(items))


def _count_of_operation(counts: Counts, call: Call, name: str, tables: Iterable[str], value: float = 1.0) -> None:
    if call.operation.name in MEASURED_OPERATIONS:
        for metric in _metrics(call, name, tables):
            counts.add(metric, value)


def _count_reasons(counts: Counts, call: Call, members: Mapping[str, Any]) -> None:
    """Count conflicts and throttled actions of a cancelled transaction. Reasons stand in the order of the actions."""
    names = [bare_name(name) for name in call.operation.tables(call.request)]
    codes = [reason["Code"] for reason in members["CancellationReasons"]]
    _count_conflicts(
        counts, call, [name for name, code in zip(names, codes, strict=False) if code == "TransactionConflict"]
    )
    throttled = [name for name, code in zip(names, codes, strict=False) if code in THROTTLED_PARTS]
    _count_of_operation(counts, call, "ThrottledRequests", dict.fromkeys(throttled))


def _count_statements(counts: Counts, call: Call, responses: Sequence[Mapping[str, Any]]) -> None:
    """Count the statements of a batch that were refused; the batch counts as throttled if all of them were."""
    codes = [one["Error"]["Code"] if "Error" in one else None for one in responses]
    if not any(codes):
        return
    conflicts: list[str] = []
    for statement, code in zip(call.request.Statements, codes, strict=True):
        if code == "ConditionalCheckFailed":
            _count_of_tables(counts, call, "ConditionalCheckFailedRequests", _statement_table(statement))
        elif code == "TransactionConflict":
            conflicts += _statement_table(statement)
    _count_conflicts(counts, call, conflicts)
    if all(code in THROTTLED_PARTS for code in codes):
        _count_of_operation(counts, call, "ThrottledRequests", _tables(call))


def _statement_table(statement: Any) -> list[str]:
    """Name of the table of a statement that has been run."""
    return [bare_name(name) for name in statement_tables([statement])]


# --- changes that are sent to Kinesis -----------------------------------------------------------------


def count_delivery(counts: Counts, observation: "DeliveryObservation") -> None:
    """Count what became of changes of one table, in the metrics with the dimension DelegatedOperation.

    ConsumedChangeDataCaptureUnits has a value for each accepted change, ThrottledPutRecordCount one for each request
    of which records were throttled, AgeOfOldestUnreplicatedRecord one for each request that has ended.
    Which values the service takes is not documented (unconfirmed). Source: global-tables-backup.md 9;
    developer guide, metrics and dimensions.
    """
    feed = observation.feed
    place = Place(feed.account, feed.region)
    for units in observation.accepted_units:
        counts.add(delegated_metric(place, "ConsumedChangeDataCaptureUnits", feed.table_name), float(units))
    values = {
        "ThrottledPutRecordCount": observation.throttled,
        "FailedToReplicateRecordCount": observation.passed_over,
    }
    for name, value in values.items():
        if value:
            counts.add(delegated_metric(place, name, feed.table_name), float(value))
    if observation.oldest_age_seconds is not None:
        milliseconds = float(round(observation.oldest_age_seconds * MILLISECONDS_PER_SECOND))
        counts.add(delegated_metric(place, "AgeOfOldestUnreplicatedRecord", feed.table_name), milliseconds)
