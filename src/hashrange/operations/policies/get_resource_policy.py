"""GetResourcePolicy: return the policy of a table or stream in its canonical form.

Order of checks: member constraints → form of the ARN → the table exists → the stream exists → the table or stream
has a policy.
"""

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.errors import PolicyNotFoundException
from hashrange.messages import policies as say
from hashrange.operations import shapes
from hashrange.operations.naming import by_resource_arn
from hashrange.operations.operation import JSON, Scope
from hashrange.operations.policies.document import shown_form
from hashrange.operations.policies.resource import find_resource, parse_resource, policy_of
from hashrange.operations.reply import Reply


class GetResourcePolicyRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The ARN of a table or stream."""

    ResourceArn: shapes.ResourceArn


async def get_resource_policy(scope: Scope, request: GetResourcePolicyRequest) -> Reply:
    """The policy document and its revision; raises PolicyNotFoundException if there is none."""
    resource = parse_resource(scope, request.ResourceArn)
    policy = policy_of(await find_resource(scope, resource), resource)
    if policy is None or policy.document is None:
        raise PolicyNotFoundException(say.POLICY_NOT_FOUND.format(arn=resource.arn))
    return {"Policy": shown_form(policy.document), "RevisionId": str(policy.revision)}


OPERATION = Operation("GetResourcePolicy", GetResourcePolicyRequest, get_resource_policy, JSON, tables=by_resource_arn)
