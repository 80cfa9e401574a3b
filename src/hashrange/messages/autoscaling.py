"""Which sentences does Application Auto Scaling return? Those of the service where they are known;
the others are our own, in its manner.

Source: Application Auto Scaling user guide, *Scaling activities*; reports of users.
"""

# --- activities ---
SETTING = "Setting {kind} capacity units to {units}."
SCALED = "Successfully set {kind} capacity units to {units}. Change successfully fulfilled by dynamodb."
NOT_SCALED = "Failed to set {kind} capacity units to {units}. Reason: {reason}"
SETTING_BOUNDS = "Setting min capacity to {minimum} and max capacity to {maximum}"
BOUNDS_SET = "Successfully set min capacity to {minimum} and max capacity to {maximum}"
# (unconfirmed): the service's words.
BOUNDS_NOT_SET = "Failed to set min capacity to {minimum} and max capacity to {maximum}. Reason: {reason}"
UNCHANGED = "Attempting to scale due to alarm triggered"
ALARM_CAUSE = "monitor alarm {alarm} in state ALARM triggered policy {policy}"
MINIMUM_CAUSE = "minimum capacity was set to {minimum}"
MAXIMUM_CAUSE = "maximum capacity was set to {maximum}"
SCHEDULED_CAUSE = "scheduled action name {name} was triggered"
POLICY_GONE = "there is no policy {arn}"

# --- errors (others: constraints.py) ---
NO_TARGET = (
    "No scalable target registered for service namespace: dynamodb, resource ID: {resource},"
    " scalable dimension: {dimension}"
)
NO_TARGET_FOUND = (
    "No scalable target found for service namespace: dynamodb, resource ID: {resource}, scalable dimension: {dimension}"
)
NO_POLICY = (
    "No scaling policy found for service namespace: dynamodb, resource ID: {resource}, scalable dimension: {dimension},"
    " policy name: {name}"
)
NO_SCHEDULED_ACTION = (
    "No scheduled action found for service namespace: dynamodb, resource ID: {resource}, scalable dimension:"
    " {dimension}, scheduled action name: {name}"
)
NO_RESOURCE = "DynamoDB table does not exist: {resource}"
MALFORMED = "The request cannot be read: {detail}"
NAMESPACE = "Only the service namespace dynamodb is served here, not {namespace}."
UNSUPPORTED = "Unsupported service namespace, resource type or scalable dimension"
BOUNDS_MISSING = "Minimum capacity and maximum capacity must be given when a scalable target is registered first."
BOUNDS_CROSSED = "Maximum capacity cannot be less than minimum capacity"
ON_DEMAND = "{resource} has no provisioned capacity: its billing mode is PAY_PER_REQUEST."
ONLY_TRACKING = "Only target tracking scaling policies are supported for DynamoDB."
CONFIGURATION_MISSING = "A target tracking scaling policy needs TargetTrackingScalingPolicyConfiguration."
ONE_METRIC = "Exactly one of PredefinedMetricSpecification and CustomizedMetricSpecification must be given."
METRIC_OF_DIMENSION = "The metric type {metric} does not belong to the scalable dimension {dimension}."
METRICS_BESIDE = "The members {names} of a customized metric cannot be given together with Metrics."
METRIC_INCOMPLETE = "A customized metric needs Namespace, MetricName and Statistic, or Metrics."
TARGET_VALUE = "Target value must be between {least} and {most} for the metric type {metric}."
TARGET_POSITIVE = "Target value must be greater than 0."
TARGET_OUT_OF_RANGE = "Target value must be between 2^-360 and 2^360."
SECOND_POLICY = "Only one TargetTrackingScaling policy for a given metric specification is allowed."
SCHEDULE = "Invalid schedule expression: {schedule}. Please use at(), rate() or cron()."
SCHEDULE_MISSING = "Schedule must be given when a scheduled action is created."
SCHEDULE_PAST = "The schedule never comes: {schedule}"
ACTION_MISSING = "At least one of minimum capacity and maximum capacity should be provided"
TIMEZONE = "Invalid time zone: {name}"
START_AFTER_END = "StartTime must be before EndTime."
NO_FORECAST = "Predictive scaling is not supported for DynamoDB."
NEXT_TOKEN = "Invalid next token"  # noqa: S105 - a sentence
NO_TAGGED = "No scalable target found for resource ARN {arn}"
TARGET_EXISTS = (
    "The scalable target that you tried to tag already exists."
    " To update tags on an existing scalable target, use the TagResource API."
)
BLANK_TAG = "Tag values cannot be empty or blank"
RESERVED_TAG = "Tag keys cannot begin with aws:, as {key} does"
TOO_MANY_TAGS = "A scalable target can have at most {most} tags."
TOO_MANY = "There can be at most {most} {what}."
DIMENSION_NEEDS_RESOURCE = "ResourceId must be given together with ScalableDimension."
