"""The operations on policies of tables and streams: PutResourcePolicy, GetResourcePolicy, DeleteResourcePolicy."""

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.errors import AccessDeniedException, PolicyNotFoundException
from hashrange.messages import policies as say
from hashrange.operations import shapes
from hashrange.operations.naming import by_resource_arn
from hashrange.operations.operation import JSON, Scope
from hashrange.operations.policies.document import read_document, shown_form, stored_form
from hashrange.operations.policies.lockout import locks_out
from hashrange.operations.policies.resource import (
    NO_POLICY,
    check_revision,
    find_resource,
    next_revision,
    parse_resource,
    policy_of,
    refuse_existing,
    refuse_pending,
    refuse_unready,
    with_policy,
)
from hashrange.operations.reply import Reply
from hashrange.tables.schema import ResourcePolicy


class PutResourcePolicyRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A resource, its new policy, and the expected revision of the old one."""

    ResourceArn: shapes.ResourceArn
    Policy: str
    ExpectedRevisionId: shapes.RevisionId | None = None
    ConfirmRemoveSelfResourceAccess: bool | None = None


async def put_resource_policy(scope: Scope, request: PutResourcePolicyRequest) -> Reply:
    """PutResourcePolicy: create or replace the policy of a table or stream. It is not enforced yet.

    Order of checks: member constraints → form of the ARN → the policy document (`read_document`) → the caller can still
    change the policy (`ConfirmRemoveSelfResourceAccess` skips this) → the table and stream exist → the table is not
    being created or deleted → the expected revision → the policy's last change has been applied. An unchanged policy
    keeps its revision.

    Store the policy unless an equal one is stored; return its revision.
    """
    resource = parse_resource(scope, request.ResourceArn)
    document = read_document(request.Policy, resource.kind)
    if not request.ConfirmRemoveSelfResourceAccess and locks_out(document, scope.account, resource.arn):
        raise AccessDeniedException(say.LOCKED_OUT)
    stored = stored_form(document)
    expected = request.ExpectedRevisionId
    while True:
        table = await find_resource(scope, resource)
        now_seconds = scope.clock.service_time()
        refuse_unready(table, now_seconds)
        old = policy_of(table, resource)
        if expected == NO_POLICY:
            refuse_existing(resource, old)
        elif expected is not None:
            check_revision(resource, old, expected)
        if old is not None and old.document == stored:
            return {"RevisionId": str(old.revision)}
        refuse_pending(resource, old, now_seconds, scope.settings.table_state_delay_seconds)
        new = ResourcePolicy(stored, next_revision(old, now_seconds))
        if await scope.store.catalog.replace(table, with_policy(table, resource, new)):
            return {"RevisionId": str(new.revision)}


class GetResourcePolicyRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The ARN of a table or stream."""

    ResourceArn: shapes.ResourceArn


async def get_resource_policy(scope: Scope, request: GetResourcePolicyRequest) -> Reply:
    """GetResourcePolicy: return the policy of a table or stream in its canonical form.

    Order of checks: member constraints → form of the ARN → the table exists → the stream exists → the table or stream
    has a policy.

    The policy document and its revision; raises PolicyNotFoundException if there is none.
    """
    resource = parse_resource(scope, request.ResourceArn)
    policy = policy_of(await find_resource(scope, resource), resource)
    if policy is None or policy.document is None:
        raise PolicyNotFoundException(say.POLICY_NOT_FOUND.format(arn=resource.arn))
    return {"Policy": shown_form(policy.document), "RevisionId": str(policy.revision)}


class DeleteResourcePolicyRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A resource, and the expected revision of its policy."""

    ResourceArn: shapes.ResourceArn
    ExpectedRevisionId: shapes.RevisionId | None = None


async def delete_resource_policy(scope: Scope, request: DeleteResourcePolicyRequest) -> Reply:
    """DeleteResourcePolicy: delete the policy of a table or stream; a missing policy is no error.

    Order of checks: member constraints → form of the ARN → the table and stream exist → the table is not being created
    or deleted → the expected revision → the policy's last change has been applied. The reply holds the revision of the
    deleted policy, or of its deletion if it was deleted before; it is empty if there never was a policy.

    Store the policy as deleted; the reply has the revision that was stored before, if any.
    """
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


OPERATIONS = (
    Operation(
        "PutResourcePolicy", PutResourcePolicyRequest, put_resource_policy, JSON, tables=by_resource_arn, writes=True
    ),
    Operation("GetResourcePolicy", GetResourcePolicyRequest, get_resource_policy, JSON, tables=by_resource_arn),
    Operation(
        "DeleteResourcePolicy",
        DeleteResourcePolicyRequest,
        delete_resource_policy,
        JSON,
        tables=by_resource_arn,
        writes=True,
    ),
)
