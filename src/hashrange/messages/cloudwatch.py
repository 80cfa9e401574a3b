"""Which sentences does CloudWatch return? Those of the service where they are known;
the others are our own, in its manner.

Source: reports of users; botocore's service model of CloudWatch, 2010-08-01.
"""

LOG_TOO_MANY_METRICS = (
    "there are %d metrics already; for each new one, the metric that has been recorded longest ago is"
    " forgotten, with all its datapoints"
)
LOG_NOT_SAVED = "the %s of the last minutes could not be saved: %s"

# --- members ---
REQUIRED = "The parameter {path} is required."
WRONG_TYPE = "The value of the parameter {path} has the wrong type: {detail}."
WRONG_VALUE = "The value of the parameter {path} is not valid: {detail}."
MALFORMED = "The request cannot be read: {detail}."
TOO_LONG = "The parameter {path} must be shorter than {limit} characters."
NOT_ASCII = "The value for parameter {path} contains non-ASCII characters."
TOO_SHORT = "The parameter {path} must be at least {least} characters long."
TOO_MANY = "The collection {path} must not have a size greater than {most}."
NOT_ONE_OF = "The parameter {path} must be a value in the set [ {values} ]."
NEXT_TOKEN = "Invalid nextToken"  # noqa: S105 - a sentence

# --- metrics ---
STATISTICS_MISSING = "At least one of the parameters Statistics and ExtendedStatistics must be specified."
STATISTICS_BOTH = "The parameters Statistics and ExtendedStatistics cannot be used together."
STATISTIC_UNKNOWN = "The value {value} for parameter {path} is not supported."
PERIOD_NOT_MULTIPLE = "The parameter Period must be a multiple of 60, or one of 1, 5, 10, 20, 30."
START_NOT_BEFORE_END = "The parameter StartTime must be less than the parameter EndTime."
TOO_MANY_POINTS = (
    "You have requested up to {points} datapoints, which exceeds the limit of {most}. You may reduce the datapoints"
    " requested by increasing Period, or decreasing the time range."
)
NAMESPACE_INVALID = "The value {namespace} for parameter Namespace is invalid."
CONTROL_CHARACTER = "The value for parameter {path} contains control characters."
BLANK = "The value for parameter {path} must contain at least one character that is no space."
COLON_FIRST = "The value {value} for parameter {path} is invalid: it must not begin with a colon."
NO_VALUE = "At least one of the parameters Value, Values or StatisticValues must be specified for {path}."
SEVERAL_VALUES = "The parameters {first} and {second} are mutually exclusive and you have specified both."
COUNTS_DIFFER = "The parameters {path}.Values and {path}.Counts must be of the same size."
NOT_A_NUMBER = "The value {value} for parameter {path} is invalid."
OUT_OF_RANGE = "The value {value} for parameter {path} is out of range."
COUNT_NOT_POSITIVE = "The value for parameter {path} must be greater than 0."
MINIMUM_ABOVE_MAXIMUM = "The parameter {path}.Minimum must not be greater than the parameter {path}.Maximum."
TIMESTAMP_TOO_OLD = "The parameter {path}.Timestamp must specify a time within the past two weeks."
TIMESTAMP_TOO_LATE = "The parameter {path}.Timestamp must specify a time no more than two hours in the future."
RESOLUTION = "The parameter {path}.StorageResolution must be a value in the set [ 1, 60 ]."
DIMENSION_TWICE = "The dimension {name} of {path} is given twice."
RECENTLY_ACTIVE = "The parameter RecentlyActive must be PT3H."

# --- tags ---
# (unconfirmed): the service's words.
NOT_AN_ARN = "The value {arn} for parameter ResourceARN is invalid."
NO_SUCH_RESOURCE = "Unknown resource {arn}."
TAG_RESERVED = "The parameter {path} must not begin with aws:."
TOO_MANY_TAGS = "A resource can have at most {most} tags."

# --- insight rules ---
NO_SUCH_RULE = "There is no insight rule {name}."
TOO_MANY_CONTRIBUTORS = "The parameter MaxContributorCount must be from 1 to {most}."
REPORT_PERIOD = "The parameter Period must be a multiple of 60."
