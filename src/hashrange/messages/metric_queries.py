"""Which sentences do queries of metric data return? Ours, in the manner of the service, except where a comment says otherwise."""

# Service behaviour: the words of GetMetricData for an expression that cannot be read.
EXPRESSION_WRONG = "Error in expression '{id}': {reason}."
TOO_MANY_QUERIES = "The collection MetricDataQueries must not have a size greater than {most}."
ID_WRONG = "The value {id} for parameter {path}.Id is not matching the expected pattern ^[a-z][a-zA-Z0-9_]*$."
ID_TWICE = "The values for parameter id in MetricDataQueries must be unique: {id}."
ONE_OF_TWO = "Exactly one of the parameters {path}.MetricStat and {path}.Expression must be given."
PERIOD_WRONG = "The parameter {path}.Period must be a multiple of 60, or one of 1, 5, 10, 20, 30."
REQUIRED = "The parameter {path} is required."
STATISTIC_WRONG = "The value {value} for parameter {path}.MetricStat.Stat is not supported."
NONE_RETURNED = "At least one of the elements in MetricDataQueries should return data."
NO_QUERIES = "The parameter MetricDataQueries is required."
START_NOT_BEFORE_END = "The parameter StartTime must be less than the parameter EndTime."
MAX_DATAPOINTS = "The parameter MaxDatapoints must be from 1 to {most}."
SCAN_BY = "The parameter ScanBy must be TimestampDescending or TimestampAscending."
ALARM_RETURNS_ONE = "Exactly one element of the metrics list should return data."
ALARM_WINDOW = (
    "Metrics cannot be checked across more than {most} seconds (EvaluationPeriods * Period must be <= {most})."
)
