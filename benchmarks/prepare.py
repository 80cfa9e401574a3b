"""Which requests does a workload send? Signed ones with keys from one seed, as bytes, and as a file that replay.lua reads."""

import json
import random
from pathlib import Path
from string import Template
from typing import Any, NamedTuple, Protocol

from benchmarks.items import SEED, ItemMaker, noise, partition_key, sort_key
from benchmarks.signing import Signer
from benchmarks.workloads import Plan, Workload


class Caller(Protocol):
    """Calls operations: a client over a socket, or the dispatcher in process."""

    def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The decoded reply."""
        ...


class Prepared(NamedTuple):
    """Requests of one workload, and how many units (items of a Scan, else the operation itself) one of them stands for."""

    requests: list[bytes]
    units_per_request: float


def prepare_requests(
    plan: Plan, workload: Workload, maker: ItemMaker, table_items: int, host: str, caller: Caller
) -> Prepared:
    """Sign the requests of `workload` for a table of `table_items`; a Scan's pages are found through `caller`."""
    template = Template(workload.body)
    signer = Signer(host)
    units_per_request = 1.0
    match workload.keys:
        case "partitions":
            partitions = pick(table_items // plan.sort_keys_per_partition, plan.requests_prepared)
            fields = [{"pk": partition_key(partition)} for partition in partitions]
        case "pages":
            fields, units_per_request = scan_starts(caller, plan)
        case "twice":
            numbers = pick(table_items, plan.requests_prepared // 2)
            fields = [{"item": maker.item(number, revision)} for revision in (1, 2) for number in numbers]
        case "items":
            numbers = pick(table_items, plan.requests_prepared)
            fields = [item_fields(number, plan.sort_keys_per_partition) for number in numbers]
    bodies = (template.substitute(values).encode() for values in fields)
    return Prepared([signer.request(workload.operation, body) for body in bodies], units_per_request)


def pick(population: int, count_max: int) -> list[int]:
    """Different numbers below `population` in random order, always the same ones."""
    return random.Random(SEED).sample(range(population), min(population, count_max))


def item_fields(number: int, sort_keys_per_partition: int) -> dict[str, str]:
    """What a template may ask for about one item."""
    partition, sort = divmod(number, sort_keys_per_partition)
    return {"pk": partition_key(partition), "sk": sort_key(sort), "text": noise(number + 7, 12)}


def scan_starts(caller: Caller, plan: Plan, pages_max: int = 40) -> tuple[list[dict[str, str]], float]:
    """Where each full page of the table starts, and how many items such a page has on average."""
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
    """Each request with its length in a line before it."""
    with file.open("wb") as out:
        for request in requests:
            out.write(b"%d\n%b" % (len(request), request))
