"""Which operations of DAX's control plane are served? All twenty-one."""

from typing import Any

import msgspec

from hashrange.aws_services.operation import Caller, FormWire, Operation, ServiceApi, bound
from hashrange.dax.api import clusters as cluster_operations
from hashrange.dax.api import describe_events, groups, nodes, tags
from hashrange.dax.api.members import DAX_ERRORS, word_dax_fault
from hashrange.dax.clusters import Clusters
from hashrange.soon import settled

CLUSTER_OPERATIONS = (
    *cluster_operations.OPERATIONS,
    *nodes.OPERATIONS,
    describe_events.OPERATION,
    *groups.OPERATIONS,
    *tags.OPERATIONS,
)


def _after_catching_up(operation: Operation[FormWire]) -> Operation[FormWire]:
    """An operation that finds the nodes as the records say, also when the store's content has just been replaced."""

    async def run(clusters: Clusters, caller: Caller, request: Any) -> Any:
        await clusters.catch_up()
        return await settled(operation.run(clusters, caller, request))

    return msgspec.structs.replace(operation, run=run)


def dax_api(clusters: Clusters) -> ServiceApi:
    """The API over these clusters."""
    return ServiceApi(
        name="DAX",
        signing_name="dax",
        target_prefix="AmazonDAXV3",
        json_version="1.1",
        version="2017-04-19",
        operations=bound(map(_after_catching_up, CLUSTER_OPERATIONS), clusters),
        word=word_dax_fault,
        errors=DAX_ERRORS,
        internal_error="InternalFailure",
    )
