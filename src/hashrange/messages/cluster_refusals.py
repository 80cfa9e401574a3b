"""What do servers of a cluster say about what they do not have? All wording is our own."""

WHERE_LISTED = "docs/cluster-refusals.md"
CLUSTER_LACKS = f"Servers of a cluster have no {{what}} ({WHERE_LISTED})."
CLUSTER_LACKS_SETTING = (
    f"{{flag}} is set, but servers of a cluster (--store) have no {{what}} ({WHERE_LISTED}). Start without {{flag}}."
)
STORE_MISSING = "{flag} is set, but --store is not: only a cluster needs it. Start without {flag}."
DRIVER_MISSING = (
    "--store needs acsylla, the driver of Cassandra, which is not installed: {how}. Start without --store to keep data"
    " in a folder."
)
