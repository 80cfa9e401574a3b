"""Which sentences do DAX's API and the nodes of its clusters say? Ours: the service's own are not known (unconfirmed),
except RESERVED (reports of users) and the messages of deleted groups (examples of the AWS CLI).
"""

NULL = "Value at '{path}' failed to satisfy constraint: Member must not be null"
MALFORMED = "The request is malformed: {detail}"
CLUSTER_NOT_FOUND = "Cluster {name} not found."
CLUSTER_EXISTS = "Cluster {name} already exists."
SHARED_CLUSTER = (
    "The cluster {name} belongs to all accounts of this server, so with a credentials file only its settings change it."
)
CLUSTER_STATE = "Cluster {name} is {status}; it must be available."
CLUSTER_NAME = (
    "The parameter ClusterName must be from 1 to 20 letters, digits and hyphens, begin with a letter, and neither end"
    " with a hyphen nor contain two in a row: {name}"
)
NODE_TYPE = "Invalid node type: {node_type}. It must be one of: {types}"
REPLICATION_FACTOR = "Replication factor must be from 1 to {most}, not {factor}."
MORE_NODES = "The new replication factor {factor} must be greater than the current one, {current}."
FEWER_NODES = "The new replication factor {factor} must be at least 1 and less than the current one, {current}."
ZONES_COUNT = "The number of availability zones, {zones}, must be that of the nodes, {nodes}."
ZONE = "Invalid availability zone: {zone}."
ROLE = "The parameter IamRoleArn is no ARN of a role: {arn}"
TOPIC = "The parameter NotificationTopicArn is no ARN of a topic: {arn}"
TOPIC_STATUS = "The parameter NotificationTopicStatus must be active or inactive, not {status}."
WINDOW = "Invalid maintenance window: {window}. It must have the form ddd:hh24:mi-ddd:hh24:mi and at least 60 minutes."
ONE_OF = "The parameter {name} must be one of {values}, not {value}."
TOO_LONG = "The parameter {name} must have at most {most} characters."
NODE_NOT_FOUND = "Node {node} not found in cluster {name}."
NODES_COUNT = "The number of nodes to remove, {given}, must be {wanted}."
NODE_QUOTA = "A cluster has at most {most} nodes."
ACCOUNT_NODE_QUOTA = "All clusters of an account together have at most {most} nodes in a Region."
GROUP_NOT_FOUND = "{kind} group {name} not found."
GROUP_EXISTS = "{kind} group {name} already exists."
SERVER_NODE_QUOTA = "All clusters of this server together have at most {most} nodes."
GROUP_QUOTA = "There are at most {most} {kind} groups."
GROUP_USED = "{kind} group {name} is used by cluster {cluster}."
GROUP_GONE = "{kind} group {name} has been deleted."
RESERVED = "{name} is reserved and cannot be modified."
PARAMETER_NAME = "Invalid parameter: {name}."
PARAMETER_VALUE = "Invalid value of parameter {name}: {value}. It must be a whole number of milliseconds from 0."
NO_PARAMETERS = "The parameter ParameterNameValues must have an element."
GROUP_NAME = "The parameter {path} must be from 1 to 255 letters, digits and hyphens, and begin with a letter: {name}"
SUBNET_QUOTA = "A subnet group has at most {most} subnets."
SUBNET = "Invalid subnet: {subnet}."
NO_SUBNETS = "The parameter SubnetIds must have an element."
ARN = "Invalid ARN: {arn}."
TAG_QUOTA = "A cluster has at most {most} tags."
TAG = "The key of a tag must have from 1 to {key} characters, and its value at most {value}."
TAG_PREFIX = "Tag keys that begin with aws: are reserved: {key}"
TAG_NOT_FOUND = "Tag {key} not found."
MAX_RESULTS = "The parameter MaxResults must be from {least} to {most}."
NEXT_TOKEN = "The parameter NextToken is no token of a former reply."  # noqa: S105 - no secret
EVENT_TIMES = (
    "The parameters StartTime and EndTime cannot be used together with Duration, and StartTime must come first."
)
EVENT_DURATION = "The parameter Duration must be from 1 to {most} minutes."
EVENT_SOURCE = "The parameter SourceName needs the parameter SourceType."
NO_TLS = "An encrypted cluster needs the server's certificate: start it with --tls-cert and --tls-key."
SOURCE = "The parameter Source must be user or system, not {source}."

# --- nodes --------------------------------------------------------------------------------------

NODE_UNAUTHORIZED = "Missing Authentication Token"
NODE_OF_OTHERS = "This cluster belongs to another account or Region."
NODE_SIGNATURE_EXPIRED = "Signature expired: {date}"
REQUEST_MALFORMED = "The request is malformed: {fault}."
NESTED_TOO_DEEP = "it is nested too deep"
TOO_MANY_LISTS = "Too many different sets of attribute names have been used."
