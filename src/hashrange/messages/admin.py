"""Which error messages does the admin API send? Our own, for operators; most say how to solve the problem."""

NOT_LOCAL = (
    "The admin API answers only clients on the server's own machine. To let others in, start the server with"
    " --admin-from everyone."
)
NO_ENDPOINT = "There is no endpoint {path}. The admin API has {endpoints}."
WRONG_METHOD = "{path} takes {methods}, not {method}."
BODY_TOO_LARGE = "The body is longer than {bytes_max} bytes. Send JSON such as {example}."
BAD_BODY = "The body cannot be read: {reason}. Send JSON such as {example}."
INTERNAL_ERROR = "The server met an error of its own; its log says more under the request id {request_id}."

TOO_FAR_AHEAD = "Service time can be at most {years} years ahead of the machine's clock. Advance by fewer seconds."

NO_TABLE = "There is no table {name}{where}. ListTables tells which tables there are."
AMBIGUOUS_TABLE = (
    "There are several tables {name}, in {places}. Say which one is meant with the members account and region."
)
PLACE_WITHOUT_TABLE = "The members account and region say which table is meant. Send the member table with them."

NO_PARTITION = "Table {name} has no partition {number}. It has the partitions {numbers}."
TOO_FEW_KEYS = (
    "{what} cannot be split: only a partition whose items have different partition keys can be. Put such items first."
)
TOO_MANY_PARTITIONS = "Table {name} has {count} partitions already, which is the most that a table can have."
PARTITION_CHANGED = "Partition {number} of table {name} was split meanwhile. Ask again."

NO_SNAPSHOT = "There is no snapshot {number}. Snapshots that can be used: {numbers}."
TOO_MANY_SNAPSHOTS = (
    "There are {count} snapshots, which is the most that a server keeps. Release one with DELETE snapshots/NUMBER."
)
BAD_ROW_KEY = "The member after must be the key of the last row that was read, as base64."
CONTENT_IN_MEMORY = (
    "This database is in memory, so its content is in no files. `hashrange snapshot FILE` writes its rows to a file."
)
NO_SNAPSHOT_FILE = "Snapshot {number} has no file {name}. POST snapshots/{number}/files returns their names."
RESET_ENDED = "The server ends before the reset was done. Nothing has changed; reset again once it is started."
NO_FORK = "There is no fork on port {port}. Ports of forks: {ports}."
TOO_MANY_FORKS = (
    "No connections are left for another fork of this server, which has {count}. End one of them with"
    " DELETE forks/PORT, or start the fork at a server that may have more connections."
)
NO_LISTENER = (
    "This database listens on no port, so a fork of it cannot either. Fork it from the program that it runs in."
)
