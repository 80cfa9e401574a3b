"""What does the test kit (hashrange.testing) cost a test suite? Databases, resets, forks, requests,
and whole suites beside other ways to test.

    python -m benchmarks.testkit             all of it, some six minutes; prints the page
    python -m benchmarks.testkit --write     writes docs/testing/speed.md, too

Programs of their own measure in fresh processes: starts.py, contents.py and transport.py, and the suites in suites/.
"""
