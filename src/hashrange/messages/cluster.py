"""What is said about a cluster over Apache Cassandra."""

CLUSTER_UNREACHABLE = "The cluster {place} does not answer: {reason}"
CLUSTER_REFUSED = "The cluster {place} refuses a statement: {reason}"
CREDENTIALS_REFUSED = (
    "The cluster {place} refuses user and password. Give them with --store-user and --store-password-file, or the"
    " variable HASHRANGE_STORE_PASSWORD."
)
OLD_PAXOS = (
    "The nodes of {place} use the first variant of Paxos, which is slow where writes meet. Set paxos_variant: v2 in the"
    " cassandra.yaml of each node."
)
SEVERAL_DATACENTERS = "The nodes of {place} are in several data centres ({names}), which is not supported."
FEW_REPLICAS = (
    "The keyspace {keyspace} keeps {replicas} copies of each row; at least {least} are needed to survive the loss of a"
    " node. Change its replication, or say --single-node."
)
LAYOUT_UNKNOWN = "The keyspace {keyspace} was made by a newer version of Hashrange (layout {version})."
OUTCOME_UNKNOWN = "The cluster {place} has not told in time whether a write took place."
ABORTED_BY_OTHERS = "The transaction took too long, and another server has aborted it; nothing was done."
NO_VECTORS = "Vector indexes are not supported on a cluster"
LOG_ENTRIES_WAIT = "entries of global indexes are written later, because the cluster does not answer: %s"
LOG_COMMIT_LOG = "commitlog_sync of the cluster is %s: a commit survives %s"
