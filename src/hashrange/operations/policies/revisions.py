"""Is the stored policy the one that the caller has seen? Revision ids: milliseconds of the change, always growing.

A deletion is a change, too, with an id of its own. Source: service behaviour, captures of October 2026.
"""

from hashrange.errors import PolicyNotFoundException
from hashrange.messages import policies as say
from hashrange.operations.policies.resource import Resource
from hashrange.tables.schema import ResourcePolicy

NO_POLICY = "NO_POLICY"
"""ExpectedRevisionId of a PutResourcePolicy that is to create a policy, not to replace one."""


def next_revision(policy: ResourcePolicy | None, now_seconds: float) -> int:
    """The id of a change made now to what is stored."""
    now_ms = int(now_seconds * 1000)
    return now_ms if policy is None else max(now_ms, policy.revision + 1)


def refuse_existing(resource: Resource, policy: ResourcePolicy | None) -> None:
    """For NO_POLICY: raises PolicyNotFoundException when there is a policy."""
    if policy is not None and policy.document is not None:
        raise PolicyNotFoundException(
            say.POLICY_EXISTS.format(resource=f"{resource.kind} {resource.name}", revision=policy.revision)
        )


def check_revision(resource: Resource, policy: ResourcePolicy | None, expected: str) -> None:
    """Raises PolicyNotFoundException when the last change has another id, or there never was one."""
    subject = f"{resource.kind} {resource.name}"
    if policy is None:
        raise PolicyNotFoundException(say.REVISION_OF_NONE.format(expected=expected, resource=subject))
    if expected != str(policy.revision):
        raise PolicyNotFoundException(
            say.REVISION_OTHER.format(expected=expected, resource=subject, revision=policy.revision)
        )
