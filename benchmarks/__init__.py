"""Benchmarks: what an operation costs, in process and over real sockets, beside other servers of the same API.

    python -m benchmarks --quick             two minutes, ours only; writes no page
    python -m benchmarks                     everything beside the peers, some 25 minutes; writes docs/benchmarks.md
    python -m benchmarks --ours --add        ours again, put into the last run's page
    python -m benchmarks --full --huge       also tables of 1,000,000 and 10,000,000 items
    python -m benchmarks --pair HEAD~1       the last commit and the working tree beside the one before, some eight minutes (pair.py)
    python -m benchmarks --seconds 0.5 --items 1000     tries the harness: every section, no figure to be trusted

The figure that counts is the server's CPU time per operation: it hardly depends on how busy the machine is.
What is measured stands as data in workloads.toml; who is measured in servers.py. Figures are kept as they come (results.py): what an
interrupted run measured stays in .bench/results.json, from which --render makes a page and to which --add adds.
"""
