"""What could a second process carry? `python -m benchmarks.second_process`: what it would take off the first one,
beside what it costs to hand work over, and to follow the first one's commits.

Each figure is the CPU time of one request, write or read in µs, the best of several rounds; requests and replies have
the sizes of a GetItem of 400 bytes. Handing over is the least that it can take: bytes over a pair of sockets, without
an event loop, as many requests at a time as the server reads together. See docs/adr/0070-one-process.md.
"""

import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import rocksdict

from benchmarks.inprocess import Bench, parse
from benchmarks.stages import best_us
from benchmarks.tables import number, table
from benchmarks.workloads import Plan, read_plan
from hashrange.server.protocols.dynamodb_json.protocol import SIGNING_NAME
from hashrange.store.embedded.engine import close_engine, open_engine

REQUEST, REPLY, ROW_BYTES = bytes(700), bytes(600), 400
TOGETHER = 8
ROUNDS = 7
ANSWERER = f"""
import socket, sys
with socket.socket(fileno=int(sys.argv[1])) as connection:
    missing = {TOGETHER * len(REQUEST)}
    while data := connection.recv(missing):
        missing -= len(data)
        if not missing:
            connection.sendall(bytes({TOGETHER * len(REPLY)}))
            missing = {TOGETHER * len(REQUEST)}
"""
CERTIFICATE = Path(__file__).resolve().parent.parent / "tests" / "data" / "tls" / "localhost.pem"


def main() -> int:
    """Measure and print."""
    rows = [[title, number(us)] for title, us in figures(read_plan(), times=2_000)]
    print(table(["what", "µs of CPU"], rows))
    return 0


def figures(plan: Plan, times: int) -> Sequence[tuple[str, float]]:
    """Each figure with its title; `times`: how often each thing is done in a round."""
    bench = Bench(plan, ROW_BYTES, plan.table_items)
    try:
        requests = bench.prepare(plan.named("get")).requests
        parsed = [parse(request) for request in requests]
        whole_us = bench.time_dispatch(requests, times / 2_000) * 1e6
        signature_us = best_us(lambda request: bench.access.authorize(request, SIGNING_NAME), parsed)
    finally:
        bench.close()
    return [
        ("a GetItem, all but HTTP", whole_us),
        ("· in it: its signature is checked", signature_us),
        ("TLS of a request and its reply", tls_us(times // TOGETHER)),
        ("a request is handed over, and its reply taken back", handing_over_us(times // TOGETHER)),
        *following(times),
    ]


def tls_us(times: int) -> float:
    """What the server's end of a TLS connection takes to read a request and to write its reply."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE, CERTIFICATE.with_suffix(".key"))
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = context.wrap_bio(to_server, to_client, server_side=True)
    trusting = ssl.create_default_context(cafile=str(CERTIFICATE))
    client = trusting.wrap_bio(to_client, to_server, server_hostname="localhost")
    for end in (client, server, client, server):
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            continue
    best = float("inf")
    for _ in range(ROUNDS):
        for _ in range(times):
            client.write(REQUEST)
        before = time.thread_time()
        for _ in range(times):
            server.read(len(REQUEST))
            server.write(REPLY)
        best = min(best, time.thread_time() - before)
        for _ in range(times):
            client.read(len(REPLY))
    return best / times * 1e6


def handing_over_us(times: int) -> float:
    """What the first process takes to send requests to a second one, which does nothing, and to read its replies."""
    ours, theirs = socket.socketpair()
    with theirs:
        child = subprocess.Popen([sys.executable, "-c", ANSWERER, str(theirs.fileno())], pass_fds=[theirs.fileno()])

    def hand_over(_: int) -> None:
        ours.sendall(REQUEST * TOGETHER)
        missing = TOGETHER * len(REPLY)
        while missing:
            missing -= len(ours.recv(missing))

    try:
        return best_us(hand_over, range(times)) / TOGETHER
    finally:
        ours.close()
        child.wait()


def following(times: int) -> Sequence[tuple[str, float]]:
    """What a write costs the first process, and the second one that follows it as RocksDB's secondary, which reads the
    first one's log; and what a read costs both.
    """
    keys = [one.to_bytes(24, "big") for one in range(times)]
    with tempfile.TemporaryDirectory() as folder:
        engine = open_engine(folder)
        options = rocksdict.Options(raw_mode=True)
        access = rocksdict.AccessType.secondary(str(Path(folder, "second")))
        second = rocksdict.Rdict(
            str(Path(folder, "engine")), options, column_families={"default": options}, access_type=access
        )
        written_us = taken_us = float("inf")
        for revision in range(ROUNDS):
            row = bytes([revision]) * ROW_BYTES
            written_us = min(written_us, cpu_us(lambda row=row: [engine.put(key, row) for key in keys]))  # type: ignore[misc]
            taken_us = min(taken_us, cpu_us(second.try_catch_up_with_primary))
            assert second.get(keys[-1]) == row, "the second process does not follow"
        read_us, second_us = best_us(engine.get, keys), best_us(second.get, keys)
        second.close()
        close_engine(engine, folder, may_fail=False)
    return [
        ("a write of the first process's engine, without its sync", written_us / times),
        ("· a second process takes it in", taken_us / times),
        ("a read of the first process's engine", read_us),
        ("· of the second one's", second_us),
    ]


def cpu_us(work: Callable[[], object]) -> float:
    """µs of CPU of doing it once."""
    before = time.thread_time()
    work()
    return (time.thread_time() - before) * 1e6


if __name__ == "__main__":
    sys.exit(main())
