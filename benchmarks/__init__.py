"""Benchmarks: what an operation costs, in process and over real sockets, beside other servers of the same API.

    python -m benchmarks --quick             a minute or two, ours only, writes nothing
    python -m benchmarks                     everything beside the peers, some 45 minutes; writes docs/benchmarks.md
    python -m benchmarks --ours --add        ours again, put into the last run's page
    python -m benchmarks --full --huge       also tables of 1,000,000 and 10,000,000 items

The figure that counts is the server's CPU time per operation: it hardly depends on how busy the machine is.
What is measured stands as data in workloads.toml; who is measured in servers.py.
"""
