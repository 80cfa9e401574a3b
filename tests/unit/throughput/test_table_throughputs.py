"""A change of the catalog costs little, however many tables there are: what has not changed is not made anew."""

from contextlib import closing
from typing import Any

from hashrange.throughput.feature import THROUGHPUT
from tests.support.servers import ThreadServer
from tests.unit.throughput.conftest import client_of, create_table


def test_the_buckets_of_other_tables_stay_as_they_are(running: ThreadServer) -> None:
    throughputs = running.service.features.part(THROUGHPUT).throughputs
    (orders,) = running.store.catalog.all_tables()
    before: Any = running.call(throughputs.find, orders.source_id)
    with closing(client_of(running)) as client:
        create_table(client, "others")
    assert running.call(throughputs.find, orders.source_id) is before
