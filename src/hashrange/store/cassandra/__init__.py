"""How does a store work that several servers share, over Apache Cassandra?

Rows of a table are in *slots*, ranges of hashes of partition keys. A slot is one partition of Cassandra; each write to
it is a conditional batch, which only takes place if the slot's version is the one that the write was planned from.
See docs/adr/0086-cluster.md.
"""
