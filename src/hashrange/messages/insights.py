"""Which sentences do reports of insight rules return? Our own, in CloudWatch's manner."""

NO_SUCH_RULE = "There is no insight rule {name}."
TOO_MANY_CONTRIBUTORS = "The parameter MaxContributorCount must be from 1 to {most}."
PERIOD = "The parameter Period must be a multiple of 60."
START_NOT_BEFORE_END = "The parameter StartTime must be less than the parameter EndTime."
