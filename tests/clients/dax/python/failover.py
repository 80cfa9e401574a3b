"""Reads through a cluster, as often as a line comes: each time until an item was read 30 times,
and prints how many of these were right.

A read that meets a node that has just gone fails: this client does not try it again by itself,
and learns of the node from it. While a server is down, the client may forget all of its nodes, and asks for them
again every four seconds.

Argument: the URL of the cluster.
"""

import sys
import time

import botocore.session
from amazondax import AmazonDaxClient
from amazondax.DaxError import DaxClientError, DaxServiceError

READS, TRIES = 30, 1_000
PAUSE_SECONDS = 0.02


def main() -> None:
    session = botocore.session.Session()
    session.set_credentials("AKIDEXAMPLE", "secret")
    with AmazonDaxClient(session, region_name="eu-west-1", endpoint_url=sys.argv[1]) as dax:
        for _ in sys.stdin:
            found = []
            for _ in range(TRIES):
                try:
                    found.append(dax.get_item(TableName="music", Key={"artist": {"S": "Nina"}})["Item"])
                except (OSError, DaxServiceError):
                    continue
                except DaxClientError:  # it knows no node
                    time.sleep(PAUSE_SECONDS)
                    continue
                if len(found) == READS:
                    break
            print(len([item for item in found if item["year"] == {"N": "1958"}]), flush=True)


main()
