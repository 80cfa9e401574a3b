"""Code that is loaded when it is first needed is loaded on a thread of a server's own process:
only the request that needs it waits.
"""

import asyncio
import http.client
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

import pytest

from hashrange.features import late_code
from hashrange.features.late_code import LateCode, StillLoading
from hashrange.server import app
from hashrange.server.protocols import metrics_path, other_services
from hashrange.settings import Settings
from hashrange.testing import Database, server

WAIT_SECONDS = 30.0
FORM = (
    "POST",
    "/",
    b"Action=ListMetrics&Version=2010-08-01",
    {"content-type": "application/x-www-form-urlencoded"},
)
REQUESTS = {"metrics": ("GET", "/metrics", b"", {}), "form": FORM}


class SlowImports:
    """Imports that wait until `go_on` is set."""

    def __init__(self) -> None:
        self.began, self.go_on = threading.Event(), threading.Event()
        self.threads: list[str] = []
        self.failure: Exception | None = None

    def __call__(self, name: str) -> ModuleType:
        self.threads.append(threading.current_thread().name)
        self.began.set()
        assert self.go_on.wait(WAIT_SECONDS)
        if self.failure is not None:
            raise self.failure
        return import_module(name)


@pytest.fixture
def imports(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowImports]:
    """Slow imports, on threads; nothing is loaded."""
    slow = SlowImports()
    monkeypatch.setattr(late_code, "import_module", slow)
    monkeypatch.setattr(late_code, "_is_ours", True)
    for owner, name in ((metrics_path, "_code"), (other_services, "_code")):
        monkeypatch.setattr(owner, name, LateCode(*getattr(owner, name)._modules))
    yield slow
    slow.go_on.set()


@pytest.fixture
def database(imports: SlowImports) -> Iterator[Database]:
    with server(Settings(data_dir=None, port=0)) as opened:
        yield opened


def asked(database: Database, method: str, path: str, body: bytes, headers: dict[str, str]) -> int:
    connection = http.client.HTTPConnection(database.endpoint.removeprefix("http://"), timeout=WAIT_SECONDS)
    try:
        connection.request(method, path, body, headers)
        with connection.getresponse() as response:
            response.read()
            return response.status
    finally:
        connection.close()


@pytest.mark.parametrize(("name", "status"), [("metrics", 200), ("form", 400)])
@pytest.mark.parametrize("fails", [False, True])
def test_others_are_answered_while_a_request_waits_for_its_code(
    database: Database, imports: SlowImports, name: str, status: int, *, fails: bool
) -> None:
    """The first PutMetricData held up all clients for 104 ms and more, the first scrape for 40 to 100. (A
    form without a signature is refused.)
    """
    imports.failure = ImportError("gone") if fails else None
    interval = sys.getswitchinterval()
    statuses: list[int] = []
    waiting = [threading.Thread(target=lambda: statuses.append(asked(database, *REQUESTS[name]))) for _ in range(3)]
    for thread in waiting:
        thread.start()
    assert imports.began.wait(WAIT_SECONDS)
    assert sys.getswitchinterval() < interval
    assert asked(database, "GET", "/", b"", {}) == 200
    assert database.client().list_tables()["TableNames"] == []
    assert statuses == []
    imports.go_on.set()
    for thread in waiting:
        thread.join(WAIT_SECONDS)
    assert len(statuses) == 3
    assert set(statuses) <= ({500, status} if fails else {status})
    assert 500 in statuses or not fails
    imports.failure = None
    assert asked(database, *REQUESTS[name]) == status
    assert sys.getswitchinterval() == interval
    assert set(imports.threads).isdisjoint({threading.main_thread().name, database._process._thread.name})


def test_alarms_of_a_store_are_loaded_on_a_thread_when_it_is_opened(imports: SlowImports) -> None:
    imports.go_on.set()
    with server(Settings(data_dir=None, port=0)) as database:
        database.client("cloudwatch").put_metric_alarm(
            AlarmName="quiet",
            Namespace="shop",
            MetricName="Orders",
            Statistic="Sum",
            Period=60,
            EvaluationPeriods=1,
            Threshold=1,
            ComparisonOperator="LessThanThreshold",
        )
        imports.go_on.clear()
        imports.began.clear()
        with database.fork() as fork:
            assert imports.began.wait(WAIT_SECONDS)
            assert fork.client().list_tables()["TableNames"] == []
            imports.go_on.set()


def test_elsewhere_code_is_loaded_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not late_code._is_ours
    loaded: list[str] = []
    monkeypatch.setattr(late_code, "import_module", loaded.append)
    code = LateCode("one", "two")
    code.load()
    code.load()
    assert loaded == ["one", "two"]


def test_on_a_thread_code_is_loaded_once_and_again_after_a_failure(imports: SlowImports) -> None:
    code = LateCode("string")

    async def scenario() -> None:
        imports.failure = ImportError("gone")
        imports.go_on.set()
        with pytest.raises(StillLoading):
            code.load()
        with pytest.raises(ImportError):
            await code.be_loaded()
        imports.failure = None
        await asyncio.gather(code.be_loaded(), code.be_loaded())
        code.load()
        assert len(imports.threads) == 2

    asyncio.run(scenario())


def test_a_server_loads_on_threads_while_it_runs_in_its_own_process() -> None:
    seen: list[bool] = []

    def ready(_endpoint: str, _dax_endpoint: str | None) -> None:
        seen.append(late_code._is_ours)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        app.run(Settings(port=0, data_dir=None), ready)
    assert seen == [True]
    assert not late_code._is_ours


FIRST_CLUSTER = """
import sys
from hashrange.settings import Settings
from hashrange.testing import server

with server(Settings(data_dir=None, port=0)) as database:
    assert database.endpoint
    dax = database.client("dax")
    dax.describe_clusters()
    before = set(sys.modules)
    dax.create_cluster(ClusterName="shop", NodeType="dax.t3.small", ReplicationFactor=1, IamRoleArn="arn:aws:iam::000000000000:role/dax")
    print([name for name in sys.modules if name not in before and name.startswith("hashrange.")])
"""  # noqa: E501


def test_the_first_cluster_loads_nothing_more() -> None:
    """It held up all others for 50 to 80 ms."""
    ran = subprocess.run([sys.executable, "-c", FIRST_CLUSTER], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("[]\n", "")
