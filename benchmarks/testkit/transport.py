"""How much CPU does a GetItem through the transport take? A program for a fresh process:
`transport ITEMS ROUNDS` prints µs as JSON.

`answer`: our part, from the request that botocore has prepared to the reply that it then parses, on both threads,
  without the making of the reply's object, whose class is botocore's.
`client`: the whole of `get_item`. `canned`: the same with the reply at hand, so without our part.
"""

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import boto3
from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from benchmarks.items import ItemMaker
from benchmarks.loader import table_arguments
from benchmarks.workloads import read_plan
from hashrange.clock import SystemClock
from hashrange.service.opening import open_service
from hashrange.settings import Settings
from hashrange.testing.botocore_transport import Transport
from hashrange.testing.in_process import InProcess

ITEM_BYTES = 400
EVENT = "before-send.dynamodb.GetItem"
OPTIONS = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "us-east-1"}
CLIENT_SHARE = 10
"""One in so many items is also read by `get_item`, which takes far longer."""


class Body:
    """The body of a reply that is at hand."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self) -> list[bytes]:
        """All of it."""
        return [self._body]


def process_us(run: Callable[[], object], count: int) -> float:
    """µs of CPU, of all threads, of each of the `count` requests that one call makes."""
    before = time.process_time()
    run()
    return (time.process_time() - before) * 1e6 / count


def measure(items: int, rounds: int) -> dict[str, list[float]]:  # noqa: C901 - each way of asking, measured in turn
    """µs per GetItem by what is counted."""
    plan = read_plan()
    maker = ItemMaker(ITEM_BYTES, plan.sort_keys_per_partition)
    with InProcess(partial(open_service, Settings(data_dir=None), SystemClock())) as process:
        transport = Transport(process)
        session = boto3.Session()
        transport.attach(session)
        client: Any = session.client("dynamodb", **OPTIONS)
        client.create_table(**table_arguments(plan, 0))
        made = [json.loads(maker.item(number)) for number in range(items)]
        for item in made:
            client.put_item(TableName=plan.table, Item=item)
        keys = [{"pk": item["pk"], "sk": item["sk"]} for item in made]
        requests: list[AWSPreparedRequest] = []

        def see(request: AWSPreparedRequest, **_: object) -> None:
            requests.append(request)

        def get(some: list[dict[str, Any]]) -> None:
            for key in some:
                client.get_item(TableName=plan.table, Key=key)

        def answer_all() -> None:
            answer = transport.answer
            for request in requests:
                answer(request)

        client.meta.events.register_first(EVENT, see)
        get(keys)
        client.meta.events.unregister(EVENT, see)
        reply = transport.answer(requests[0])
        assert reply is not None
        body, headers = reply.content, reply.headers

        def make_replies() -> None:
            for request in requests:
                AWSResponse(request.url, 200, headers, Body(body))

        def canned(request: AWSPreparedRequest, **_: object) -> AWSResponse:
            return AWSResponse(request.url, 200, headers, Body(body))

        some = keys[::CLIENT_SHARE]
        figures: dict[str, list[float]] = {"answer": [], "client": [], "canned": []}
        for _ in range(rounds):
            making_us = process_us(make_replies, len(requests))
            figures["answer"].append(process_us(answer_all, len(requests)) - making_us)
            figures["client"].append(process_us(lambda: get(some), len(some)))
            client.meta.events.register_first(EVENT, canned)
            figures["canned"].append(process_us(lambda: get(some), len(some)))
            client.meta.events.unregister(EVENT, canned)
    return figures


def main() -> None:
    """Measure and print."""
    items, rounds = map(int, sys.argv[1:])
    print(json.dumps(measure(items, rounds)))


if __name__ == "__main__":
    main()
