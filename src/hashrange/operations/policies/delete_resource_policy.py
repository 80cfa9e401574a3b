"""DeleteResourcePolicy: delete the policy of a table or stream; a missing policy is no error.

Order of checks: member constraints → form of the ARN → the table and stream exist → the table is not being created or
deleted → the expected revision → the policy's last change has been applied. The reply holds the revision of the deleted
policy, or of its deletion if it was deleted before; it is empty if there never was a policy.
"""

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.operations import shapes
from hashrange.operations.naming import by_resource_arn
from hashrange.operations.operation import JSON, Scope
from hashrange.operations.policies.resource import (
    find_resource,
    parse_resource,
    policy_of,
    refuse_pending,
    refuse_unready,
    with_policy,
)
from hashrange.operations.policies.revisions import check_revision, next_revision
from hashrange.operations.reply import Reply
from hashrange.tables.schema import ResourcePolicy


class DeleteResourcePolicyRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A resource, and the expected revision of its policy."""

    ResourceArn: shapes.ResourceArn
    ExpectedRevisionId: shapes.RevisionId | None = None


async def delete_resource_policy(scope: Scope, request: DeleteResourcePolicyRequest) -> Reply:
    """Store the policy as deleted; the reply has the revision that was stored before, if any."""
    resource = parse_resource(scope, request.ResourceArn)
    while True:
        table = await find_resource(scope, resource)
        now_seconds = scope.clock.service_time()
        refuse_unready(table, now_seconds)
        old = policy_of(table, resource)
        if request.ExpectedRevisionId is not None:
            check_revision(resource, old, request.ExpectedRevisionId)
        if old is None:
            return {}
        reply = {"RevisionId": str(old.revision)}
        if old.document is None:
            return reply
        refuse_pending(resource, old, now_seconds, scope.settings.table_state_delay_seconds)
        deleted = ResourcePolicy(None, next_revision(old, now_seconds))
        if await scope.store.catalog.replace(table, with_policy(table, resource, deleted)):
            return reply


OPERATION = Operation(
    "DeleteResourcePolicy",
    DeleteResourcePolicyRequest,
    delete_resource_policy,
    JSON,
    tables=by_resource_arn,
    writes=True,
)
