"""What is said about a cluster over Apache Cassandra."""

CLUSTER_UNREACHABLE = "The cluster {place} does not answer: {reason}"
CLUSTER_REFUSED = "The cluster {place} refuses a statement: {reason}"
OUTCOME_UNKNOWN = "The cluster {place} has not told in time whether a write took place."
ABORTED_BY_OTHERS = "The transaction took too long, and another server has aborted it; nothing was done."
NO_VECTORS = "Vector indexes are not supported on a cluster"
LOG_ENTRIES_WAIT = "entries of global indexes are written later, because the cluster does not answer: %s"
LAYOUT_UNKNOWN = "The keyspace {keyspace} was made by a newer version of Hashrange (layout {version})."
