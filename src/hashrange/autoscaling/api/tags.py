"""The operations on tags of scalable targets: TagResource, UntagResource, ListTagsForResource."""

from hashrange.autoscaling.api.members import check_scaling_names, check_target_tags
from hashrange.autoscaling.auto_scaling import AutoScaling
from hashrange.autoscaling.limits import SCALING_TAG_KEY_LENGTH_MAX, SCALING_TAG_KEYS_MAX, SCALING_TAGS_MAX
from hashrange.autoscaling.records import ScalableTarget
from hashrange.aws_services.operation import FORM, Caller, Operation, ServiceError
from hashrange.aws_services.tagging import TaggedArnRequest, Tagging, TagSet, UntagArnRequest, kept_by
from hashrange.messages import autoscaling as sentences


class TagTargetRequest(TaggedArnRequest, frozen=True):
    """Request of TagResource."""

    Tags: dict[str, str]


def _find(scaling: AutoScaling, caller: Caller, request: TaggedArnRequest) -> ScalableTarget:
    """The target of the ARN; keys to remove are checked before. Raises ServiceError."""
    if isinstance(request, UntagArnRequest):
        check_scaling_names("TagKeys", request.TagKeys, SCALING_TAG_KEYS_MAX, SCALING_TAG_KEY_LENGTH_MAX)
    arn = request.ResourceARN
    target = next((one for one in scaling.targets(caller.account, caller.region) if one.arn == arn), None)
    if target is None:
        message = sentences.NO_TAGGED.format(arn=arn[:1011])
        raise ServiceError("ResourceNotFoundException", message, ResourceName=arn[:1011])
    return target


def _added(target: ScalableTarget, present: TagSet, given: dict[str, str]) -> dict[str, str]:
    check_target_tags(given)
    tags = {**present, **given}
    if len(tags) > SCALING_TAGS_MAX:
        message = sentences.TOO_MANY_TAGS.format(most=SCALING_TAGS_MAX)
        raise ServiceError("TooManyTagsException", message, ResourceName=target.arn)
    return tags


_TAGGING = Tagging(_find, _added, kept_by(AutoScaling.keep_target))
OPERATIONS = (
    Operation("TagResource", TagTargetRequest, _TAGGING.tag, FORM),
    Operation("UntagResource", UntagArnRequest, _TAGGING.untag, FORM),
    Operation("ListTagsForResource", TaggedArnRequest, _TAGGING.list_tags, FORM),
)
