"""Which requests does a workload send? Signed requests with keys from one seed, as bytes,
and as a file for replay.lua.
"""

import json
import random
from pathlib import Path
from string import Template
from typing import Any, NamedTuple, Protocol

from benchmarks.items import SEED, STATUSES, ItemMaker, email, noise, partition_key, sort_key
from benchmarks.signing import Signer
from benchmarks.workloads import Plan, Workload


class Caller(Protocol):
    """Calls operations: either a client over a socket, or the dispatcher in process."""

    def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the decoded reply."""
        ...


class Prepared(NamedTuple):
    """Requests of one workload, and the units per request (items of a Scan or batch, else 1)."""

    requests: list[bytes]
    units_per_request: float


def prepare_requests(
    plan: Plan, workload: Workload, maker: ItemMaker, table_items: int, host: str, caller: Caller
) -> Prepared:
    """Sign the requests of `workload` for a table of `table_items`; a Scan's pages are found through `caller`."""
    signer = Signer(host)
    table = {"table": plan.table_name(workload.indexes)}
    units_per_request = float(workload.units_per_request)
    if workload.keys == "pages":
        fields, units_per_request = scan_starts(caller, plan)
    else:
        fields = fields_of(plan, workload, maker, table_items)
    if workload.part:
        fields = join_parts(workload, [{**table, **values} for values in fields])
    template = Template(workload.body)
    bodies = (template.substitute({**table, **values}).encode() for values in fields)
    return Prepared([signer.request(workload.operation, body) for body in bodies], units_per_request)


def fields_of(plan: Plan, workload: Workload, maker: ItemMaker, table_items: int) -> list[dict[str, str]]:
    """Return the values for the template's fields, per request or part; whole requests only."""
    match workload.keys:
        case "partitions":
            partitions = pick(table_items // plan.sort_keys_per_partition, plan.requests_prepared)
            return [{"pk": partition_key(partition), "email": email(partition)} for partition in partitions]
        case "twice":
            numbers = whole(pick(table_items, plan.requests_prepared // 2 * workload.parts), workload.parts)
            return [
                {
                    **item_fields(number, plan.sort_keys_per_partition),
                    "item": maker.item(number, revision),
                    "status": STATUSES[(number + revision) % len(STATUSES)],
                }
                for revision in (1, 2)
                for number in numbers
            ]
        case _:
            numbers = whole(pick(table_items, plan.requests_prepared * workload.parts), workload.parts)
            if workload.keys == "new":
                numbers = [table_items + number for number in range(plan.requests_prepared)]
            fields = [item_fields(number, plan.sort_keys_per_partition) for number in numbers]
            if "$item" in workload.body + workload.undo:
                fields = [{**one, "item": maker.item(number)} for one, number in zip(fields, numbers, strict=True)]
            return fields


def prepare_undo(plan: Plan, workload: Workload, maker: ItemMaker, table_items: int, host: str) -> list[bytes]:
    """Return the request that undoes each request of `prepare_requests`, in the same order."""
    signer = Signer(host)
    table = {"table": plan.table_name(workload.indexes)}
    template = Template(workload.undo)
    fields = fields_of(plan, workload, maker, table_items)
    return [
        signer.request(workload.undo_operation, template.substitute({**table, **values}).encode()) for values in fields
    ]


def whole(numbers: list[int], parts: int) -> list[int]:
    """Return the longest prefix that makes whole requests; fails when the table is too small for one."""
    count = len(numbers) // parts * parts
    assert count, f"a request of {parts} items needs a table of more than {len(numbers)}"
    return numbers[:count]


def join_parts(workload: Workload, fields: list[dict[str, str]]) -> list[dict[str, str]]:
    """Join the fields of several items into those of one request: {"parts":
    "{…}, {…}"}; all items of a request differ.
    """
    template = Template(workload.part)
    parts = [template.substitute(values) for values in fields]
    step = workload.parts
    return [{"parts": ", ".join(parts[start : start + step])} for start in range(0, len(parts), step)]


def pick(population: int, count_max: int) -> list[int]:
    """Return distinct numbers below `population` in random order, the same at every call."""
    return random.Random(SEED).sample(range(population), min(population, count_max))


def item_fields(number: int, sort_keys_per_partition: int) -> dict[str, str]:
    """Return the values for a template's fields of one item."""
    partition, sort = divmod(number, sort_keys_per_partition)
    return {"pk": partition_key(partition), "sk": sort_key(sort), "text": noise(number + 7, 12)}


def scan_starts(caller: Caller, plan: Plan, pages_max: int = 40) -> tuple[list[dict[str, str]], float]:
    """Return the start key of each full page of the table, and the mean number of items on such a page."""
    starts: list[dict[str, str]] = []
    items = 0
    start = ""
    arguments: dict[str, object] = {"TableName": plan.table}
    while len(starts) < pages_max:
        reply = caller.call("Scan", arguments)
        if "LastEvaluatedKey" not in reply and starts:
            break
        starts.append({"start": start})
        items += len(reply["Items"])
        if "LastEvaluatedKey" not in reply:
            break
        arguments["ExclusiveStartKey"] = reply["LastEvaluatedKey"]
        start = f', "ExclusiveStartKey": {json.dumps(reply["LastEvaluatedKey"])}'
    return starts, items / len(starts)


def write_requests(file: Path, requests: list[bytes]) -> None:
    """Write each request after a line with its length."""
    with file.open("wb") as out:
        for request in requests:
            out.write(b"%d\n%b" % (len(request), request))
