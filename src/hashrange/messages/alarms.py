"""Which sentences do alarms write and return? Reasons of states are the service's;
errors where nothing is published are our own, in its manner.

Source: CloudWatch user guide; reports of users.
"""

# --- reasons of states ---
INITIAL = "Unchecked: Initial alarm creation"
UNKNOWN_ONE = "Insufficient Data: 1 datapoint was unknown."
UNKNOWN_MANY = "Insufficient Data: {count} datapoints were unknown."
NONE_RECEIVED = (
    "Threshold Crossed: no datapoints were received for {count} {periods} and {count} missing"
    " {datapoints} treated as [{treated}]."
)
CROSSED = (
    "Threshold Crossed: {count} out of the last {evaluated} datapoints [{shown}] {were} {no}{comparison} the threshold"
    " ({threshold}) (minimum {needed} {datapoints} for {before} -> {state} transition)."
)
CROSSED_MANY = (
    "Threshold Crossed: {count} out of the last {evaluated} datapoints {were} {no}{comparison} the threshold"
    " ({threshold}). The most recent datapoints which {crossed} the threshold: [{shown}] (minimum {needed}"
    " {datapoints} for {before} -> {state} transition)."
)
"""From SHOWN_MAX datapoints on. (unconfirmed: what it says of datapoints that did not cross)"""

# --- definitions ---
METRIC_NAME_NOT_ASCII = "MetricName must not contain Non-ASCII characters"

# --- history ---
HISTORY_CREATED = 'Alarm "{name}" created'
HISTORY_UPDATED = 'Alarm "{name}" updated'
HISTORY_DELETED = 'Alarm "{name}" deleted'
HISTORY_STATE = "Alarm updated from {before} to {after}"
HISTORY_ACTION = "Successfully executed action {action}"
HISTORY_ACTION_FAILED = "Failed to execute action {action}. Received error: {error}"
NO_DELIVERY = "nothing here can be told by the action {action}"
# Our own wording.
TOO_MANY_ACTIONS = "too many actions wait for their turn"
NO_SNS = "there is no SNS here: start the server with --sns-endpoint URL"
NO_FUNCTIONS = "no functions are served here: start the server with --functions or --triggers"

# --- composite alarms ---
COMPOSITE_CREATED = "{arn} was created and its alarm rule evaluates to {state}"
COMPOSITE_UPDATED = "{arn} was updated and its alarm rule evaluates to {state}"
COMPOSITE_CHANGED = "{arn} transitioned to {state} at {time}"
SUPPRESSED = {
    "Alarm": "Actions suppressed by Alarm",
    "WaitPeriod": "Actions suppressed by WaitPeriod",
    "ExtensionPeriod": "Actions suppressed by ExtensionPeriod",
}
"""(unconfirmed: except for WaitPeriod)"""

# --- errors (others: constraints.py) ---
# Words that users report of PutMetricAlarm.
NULL = "{path} must not be null"
TOO_MANY_DATAPOINTS = "DatapointsToAlarm must be less than or equal to EvaluationPeriods"
SET_BESIDE_METRICS = "{path} should not be set if list of Metrics is set."
PERIOD_NOT_MULTIPLE = "Period must be 10, 20, 30 or a multiple of 60"
RULE_WRONG = "Error in AlarmRule [{reason}]"
RULE_UNSUPPORTED = "Unsupported token '{token}' at char {place}"
RULE_WORD_NEEDED = RULE_UNSUPPORTED + ", must be: '{needed}'"
RULE_BLANKS = "AlarmRule must not contain leading or trailing whitespace or be null"
RULE_OF_NOTHING = "Could not save the composite alarm as alarms [{names}] in the alarm rule do not exist"
STILL_WATCHED = "Cannot delete {names} as there are composite alarm(s) depending on {them}."
TOPIC_ELSEWHERE = "Invalid region {region} specified. Only {supported} is supported."
# Our own wording, in the service's manner.
MALFORMED = "The value of {path} cannot be read: {detail}."
NO_NUMBER = "{path} must not be NaN or infinite"
TOO_MANY_ALARMS = "The maximum limit of {most} alarms has been reached."
NO_SUCH_ALARM = "Alarm {name} does not exist."
NOT_SUPPORTED = "Hashrange does not support the parameter {member} yet."
OTHER_KIND = "There is an alarm {name} of the other kind already."
STATISTIC_TWICE = "The parameters Statistic and ExtendedStatistic are mutually exclusive and you have specified both."
LOW_SAMPLES_OF_SIMPLE = "The parameter EvaluateLowSampleCountPercentile can only be used with ExtendedStatistic."
NO_ANOMALY_DETECTION = "Hashrange does not support anomaly detection."
WINDOW_TOO_LONG = (
    "Metrics cannot be checked across more than {most} seconds (EvaluationPeriods * Period must be <= {most})."
)
KIN_AND_OTHERS = "The parameter {path} can only be used together with MaxRecords and NextToken."
NAMES_AND_PREFIX = "The parameters AlarmNames and AlarmNamePrefix are mutually exclusive and you have specified both."
NAME_UNPRINTABLE = "The parameter {path} must not contain control characters."
ACTION_UNKNOWN = "Invalid action {action} in {path}: an action is an ARN or a URL."
TAG_KEYS_TWICE = (
    "The parameters IncludedTagKeys and ExcludedTagKeys are mutually exclusive and you have specified both."
)
TAG_TWICE = "The tag {key} is given twice."
RULE_TOO_LONG = "AlarmRule must not look at more than {most} alarms."
RULE_TOO_DEEP = "too many levels"
RULE_ENDS = "it ends too early"
RULE_CYCLE = "AlarmRule must not lead back to the alarm itself."
COMPOSITES_DELETED = "At most one composite alarm can be deleted at a time."
REASON_DATA_NO_JSON = "StateReasonData is no JSON."
