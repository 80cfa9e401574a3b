"""Does the stored policy have the revision that the caller expects?
A policy's revision ids are times in milliseconds, always increasing.

A deletion is a change too, with its own id. Source: service behaviour, captures of October 2026.
"""

from hashrange.errors import PolicyNotFoundException
from hashrange.messages import policies as say
from hashrange.operations.policies.resource import Resource
from hashrange.tables.schema import ResourcePolicy

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
