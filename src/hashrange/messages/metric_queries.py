"""Which sentences do queries of metric data return? Ours, in the manner of the service,
except where a comment says otherwise.
"""

# --- requests ---

# Service's words, from reports of users: an expression that is not valid, an id, ids given twice,
# a statistic, a required member, equal times.
EXPRESSION_WRONG = "Error in expression '{id}': {reason}"
ID_WRONG = "The value {id} for parameter {path}.Id is not matching the expected pattern ^[a-z][a-zA-Z0-9_]*$."
ID_TWICE = "The values for parameter id in MetricDataQueries are not unique."
STATISTIC_WRONG = "The value {value} for parameter {path}.MetricStat.Stat is not a valid statistic."
REQUIRED = "The parameter {path} is required."
START_IS_END = "The parameter StartTime must not equal parameter EndTime."

TOO_MANY_QUERIES = "The collection MetricDataQueries must not have a size greater than {most}."
ONE_OF_TWO = "Exactly one of the parameters {path}.MetricStat and {path}.Expression must be given."
PERIOD_WRONG = "The parameter {path}.Period must be a multiple of 60, or one of 1, 5, 10, 20, 30."
LABEL_LONG = "The parameter {path}.Label must be at most {most} characters long."
NONE_RETURNED = "At least one of the elements in MetricDataQueries should return data."
START_NOT_BEFORE_END = "The parameter StartTime must be less than the parameter EndTime."
MAX_DATAPOINTS = "The parameter MaxDatapoints must be from 1 to {most}."
SCAN_BY = "The parameter ScanBy must be TimestampDescending or TimestampAscending."
TIMEZONE = "The parameter LabelOptions.Timezone must be + or - followed by four digits, such as +0130."
ALARM_RETURNS_ONE = "Exactly one element of the metrics list should return data."
# Service's words, from reports of users.
ALARM_SEARCHES = "SEARCH is not supported on Metric Alarms."
ALARM_QUERIES = "The metrics list of an alarm must not have more than {most} metrics, nor more than {most} expressions."

# Our own wording.
OTHER_ACCOUNT = "The account {account} is not linked to this account, which can only read metrics of its own."

# --- replies ---

# Service's words, from recorded replies; MAX_METRICS from the API reference.
VALUES_DROPPED = "One or more data-points have been dropped due to non-numeric values (NaN, -Infinite, +Infinite)"
MAX_METRICS = "Maximum number of allowed metrics exceeded"

# --- expressions, behind EXPRESSION_WRONG ---

# Service's words, from reports of users.
SYNTAX = "Invalid syntax"
NO_SUCH_FUNCTION = "Function '{name}' not found"

SYNTAX_AT = SYNTAX + " at position {position}"
SYNTAX_EXPECTED = SYNTAX + ": {expected} is expected instead of {found}"
EXPECTED_END, EXPECTED_VALUE = "the end", "a value"
SYNTAX_LEVELS = SYNTAX + ": there are more than {most} levels"
SYNTAX_NAME = SYNTAX + ": {name} is neither an id nor a function"
EXPRESSION_LONG = "It has more than {most:,} characters"
NOT_INSIGHTS = (
    "Metrics Insights queries are not supported. Instead, MetricStat reads one metric,"
    " SEARCH('{AWS/DynamoDB,TableName} MetricName=\"ConsumedReadCapacityUnits\"', 'Sum', 60) reads all that match,"
    " SUM, AVG, MIN and MAX combine them, SORT orders and limits them; alarms watch a MetricStat,"
    " or an expression over some"
)
FUNCTION_REFUSED = "Function '{name}' is not supported, because it needs what is not kept here"
ARGUMENTS_WRONG = "The number of arguments of function '{name}' must be {counts}"
NO_SUCH_QUERY = "There is no query with the id {id}"
IN_A_CIRCLE = "It leads back to itself"
NOT_A_SERIES = "The result of an expression must be a time series or an array of time series"
SERIES_EXPECTED = "A time series is expected"
NUMBER_EXPECTED = "A number is expected"
TEXT_EXPECTED = "A text is expected"
LENGTHS_DIFFER = "Arrays of different lengths cannot be combined"
SORT_ARGUMENTS = "SORT takes an array, one of AVG, MIN, MAX and SUM, one of ASC and DESC, and optionally a limit"
FILL_ARGUMENTS = "FILL takes a number, a time series, REPEAT or LINEAR as second argument"
NO_SUCH_STATISTIC = "There is no statistic {name}"
SEARCH_PERIOD = "The period of SEARCH must be a multiple of 60, or one of 1, 5, 10, 20, 30"
NO_INSIGHT_RULE = "There is no insight rule {name}"
NO_INSIGHT_METRIC = "there is no insight rule {rule} with a metric {metric}"
TOO_MUCH_WORK = "The expressions work on more than {most:,} datapoints"
TOO_MUCH_HELD = "The expressions need more than {most:,} datapoints at once"
TOO_MANY_PERIODS = "It has more than {most:,} periods"

SEARCH_LONG = "The search expression has more than {most:,} characters"
SEARCH_EMPTY = "The search expression needs a schema or a term"
SEARCH_UNREADABLE = "The search expression cannot be read at position {position}"
SEARCH_ENDS = "The search expression ends too early"
SEARCH_LEVELS = "The search expression has more than {most} levels"
SEARCH_PARENTHESIS = "A closing parenthesis is missing in the search expression"
SEARCH_UNEXPECTED = "{sign} is unexpected in the search expression"
