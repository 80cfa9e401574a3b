"""In which words does AWS's common layer refuse members of requests? Several services have them.

Source: reports of users; service models.
"""

ONE_FAULT = "1 validation error detected: {faults}"
SEVERAL_FAULTS = "{count} validation errors detected: {faults}"
FAULT = "Value '{value}' at '{path}' failed to satisfy constraint: {constraint}"
NULL_FAULT = "Value null at '{path}' failed to satisfy constraint: Member must not be null"
AT_MOST = "Member must have {what} less than or equal to {bound}"
AT_LEAST = "Member must have {what} greater than or equal to {bound}"
ONE_OF_SET = "Member must satisfy enum value set: [{values}]"
MATCHING = "Member must satisfy regular expression pattern: {pattern}"
