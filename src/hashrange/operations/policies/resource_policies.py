"""The operations on policies of tables and streams: PutResourcePolicy, GetResourcePolicy, DeleteResourcePolicy.

Order of checks of the resource: the text is an ARN → of a DynamoDB table, index or stream → of the caller's account →
of this Region → not of an index; later, the table exists → the stream exists → the table is not being created or
deleted. Revision ids are times in milliseconds, always increasing; a deletion is a change too, with its own id. Source:
service behaviour, captures of October 2026.
"""

import re
from functools import partial
from typing import Literal, NamedTuple

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.errors import (
    AccessDeniedException,
    PolicyNotFoundException,
    ResourceInUseException,
    ResourceNotFoundException,
    ValidationException,
)
from hashrange.limits import TABLE_NAME_LENGTH_MAX, TABLE_NAME_LENGTH_MIN
from hashrange.messages import policies as say
from hashrange.messages import tables as tables_say
from hashrange.operations import shapes
from hashrange.operations.lookup import described_table, require_serving
from hashrange.operations.naming import by_resource_arn
from hashrange.operations.operation import JSON, Scope
from hashrange.operations.policies.document import read_document, shown_form, stored_form
from hashrange.operations.policies.lockout import locks_out
from hashrange.operations.reply import Reply
from hashrange.operations.shapes import NAME_PATTERN
from hashrange.tables.schema import ResourcePolicy, Table
from hashrange.tables.states import status


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


# --- the resource, its last change and its revision -----------------------------------------------


_NAME = f"{NAME_PATTERN.removesuffix('+')}{{{TABLE_NAME_LENGTH_MIN},{TABLE_NAME_LENGTH_MAX}}}"
_ARN = re.compile(rf"arn:([^:]*):dynamodb:([^:]*):([^:]*):table/({_NAME})(?:/(index|stream)/([^/]+))?").fullmatch


class Resource(NamedTuple):
    """The table or stream that an ARN names."""

    arn: str
    table_name: str
    stream_label: str | None

    @property
    def kind(self) -> Literal["table", "stream"]:
        """Whether the ARN names a table or a stream."""
        return "table" if self.stream_label is None else "stream"

    @property
    def name(self) -> str:
        """The table's name, or the stream's label."""
        return self.table_name if self.stream_label is None else self.stream_label


def parse_resource(scope: Scope, arn: str) -> Resource:
    """The resource that the ARN names, which need not exist; raises ValidationException for an unsuitable ARN."""
    if not arn.startswith("arn:"):
        raise ValidationException(say.ARN_START.format(arn=arn))
    match = _ARN(arn)
    if match is None:
        raise ValidationException(say.ARN_NOT_A_RESOURCE.format(arn=arn))
    partition, region, account, table_name, part, label = match.groups()
    if account != scope.account:
        raise ValidationException(say.OTHER_ACCOUNT)
    if partition != "aws" or region != scope.region:
        raise ValidationException(say.ARN_ELSEWHERE.format(arn=arn))
    if part == "index":
        raise ValidationException(say.ARN_OF_INDEX.format(arn=arn))
    return Resource(arn, table_name, label)


async def find_resource(scope: Scope, resource: Resource) -> Table:
    """The resource's table, in any state.

    Raises ResourceNotFoundException if the table is missing, or if the stream is missing or not the table's latest.
    """
    table = await described_table(scope, resource.table_name)
    if resource.stream_label is not None and resource.stream_label != table.stream_label:
        raise ResourceNotFoundException(
            say.STREAM_NOT_FOUND.format(label=resource.stream_label, name=resource.table_name)
        )
    return table


def refuse_unready(table: Table, now_seconds: float) -> None:
    """Raise ResourceNotFoundException while the table is CREATING, ResourceInUseException while it is DELETING."""
    if status(table, now_seconds) == "CREATING":
        raise ResourceNotFoundException(tables_say.TABLE_NOT_FOUND.format(name=table.name))
    require_serving(table, now_seconds)


def refuse_pending(resource: Resource, policy: ResourcePolicy | None, now_seconds: float, delay_seconds: float) -> None:
    """Raise ResourceInUseException within `delay_seconds` of the last change of `policy`: it is still being applied."""
    if policy is not None and policy.revision / 1000 + delay_seconds > now_seconds and delay_seconds > 0:
        raise ResourceInUseException(say.POLICY_PENDING.format(kind=resource.kind.capitalize(), name=resource.name))


def policy_of(table: Table, resource: Resource) -> ResourcePolicy | None:
    """The resource's stored policy; None if it never had one. The `document` of a deleted policy is None."""
    if resource.stream_label is None:
        return table.policy
    return table.stream_policies.get(resource.stream_label)


def with_policy(table: Table, resource: Resource, policy: ResourcePolicy) -> Table:
    """The table with a new policy of the resource; a stream's policy replaces those of the table's former streams."""
    if resource.stream_label is None:
        return msgspec.structs.replace(table, policy=policy)
    return msgspec.structs.replace(table, stream_policies={resource.stream_label: policy})


# --- revisions ------------------------------------------------------------------------------------


NO_POLICY = "NO_POLICY"
"""ExpectedRevisionId of a PutResourcePolicy that must not replace a policy."""


def next_revision(policy: ResourcePolicy | None, now_seconds: float) -> int:
    """The revision id of a change made now to the stored policy."""
    now_ms = int(now_seconds * 1000)
    return now_ms if policy is None else max(now_ms, policy.revision + 1)


def refuse_existing(resource: Resource, policy: ResourcePolicy | None) -> None:
    """Raise PolicyNotFoundException, as the service does, if a policy exists although NO_POLICY is expected."""
    if policy is not None and policy.document is not None:
        raise PolicyNotFoundException(
            say.POLICY_EXISTS.format(resource=f"{resource.kind} {resource.name}", revision=policy.revision)
        )


def check_revision(resource: Resource, policy: ResourcePolicy | None, expected: str) -> None:
    """Raise PolicyNotFoundException unless the policy's last change (or deletion) has the expected revision id."""
    subject = f"{resource.kind} {resource.name}"
    if policy is None:
        raise PolicyNotFoundException(say.REVISION_OF_NONE.format(expected=expected, resource=subject))
    if expected != str(policy.revision):
        raise PolicyNotFoundException(
            say.REVISION_OTHER.format(expected=expected, resource=subject, revision=policy.revision)
        )


_operation = partial(Operation, wire=JSON, tables=by_resource_arn)
OPERATIONS = (
    _operation("PutResourcePolicy", PutResourcePolicyRequest, put_resource_policy, writes=True),
    _operation("GetResourcePolicy", GetResourcePolicyRequest, get_resource_policy),
    _operation("DeleteResourcePolicy", DeleteResourcePolicyRequest, delete_resource_policy, writes=True),
)
