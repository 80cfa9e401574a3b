"""Benchmarks: what does an operation cost? Measured in process and over real sockets,
next to other servers of the same API.

    python -m benchmarks --quick             two minutes, ours only; writes no page
    python -m benchmarks                     everything, the peers too, some 35 minutes; writes docs/benchmarks.md
    python -m benchmarks --ours --add        measures Hashrange again and updates the last run's page
    python -m benchmarks --full --huge       also tables of 1,000,000 and 10,000,000 items
    python -m benchmarks --pair HEAD~1       compares the working tree with the commit HEAD~1,
                                             some eight minutes (pair.py)
    python -m benchmarks --seconds 0.5 --items 1000     tries the harness: every section, but figures mean nothing

The main figure is the server's CPU time per operation: it hardly depends on how busy the machine is.
workloads.toml lists the workloads, servers.py the measured servers. Each figure is saved at once (results.py): an
interrupted run keeps its figures in .bench/results.json, from which --render makes a page and to which --add adds.
"""
