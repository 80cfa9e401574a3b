"""Which servers are measured? Hashrange in memory and on disk, and its peers, each as a command that serves on a port.

Peers are used as black boxes, installed by peers.py from package registries.
"""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from benchmarks import peers
from benchmarks.signing import CREDENTIALS_TOML

SOURCES = Path(__file__).resolve().parent.parent / "src"


class Launch(NamedTuple):
    """How to start a server: its command and its additional environment variables."""

    command: list[str]
    environment: dict[str, str] = {}  # noqa: RUF012 - never changed


class Contender(NamedTuple):
    """One server in one mode."""

    name: str
    title: str
    kind: Literal["memory", "disk"]
    launch: Callable[[int, Path], Launch]
    """launch(port, empty folder): data is kept in the folder's `data`. Raises peers.NotInstallable with the reason."""
    version: Callable[[], str]
    pipelines: bool = False
    warm_up_seconds: float = 0.0
    """Least seconds of replaying a server with a just-in-time compiler on its first workload; a quarter for later ones.
    """
    loads_per_second: int = 5_000
    """Approximate number of items loaded per second, for the estimate of a run's length."""

    @property
    def is_ours(self) -> bool:
        """True for Hashrange."""
        return self.name.startswith("ours")


def ours(kind: str) -> Callable[[int, Path], Launch]:
    """`hashrange serve` of this checkout, checking signatures."""

    def launch(port: int, folder: Path) -> Launch:
        credentials = folder / "credentials.toml"
        credentials.write_text(CREDENTIALS_TOML)
        place = ["--in-memory"] if kind == "memory" else ["--data-dir", str(folder / "data")]
        command = [
            sys.executable,
            "-m",
            "hashrange",
            "serve",
            "--port",
            str(port),
            *place,
            "--credentials",
            str(credentials),
        ]
        # Run from bytecode, as an installed server does: PYTHONDONTWRITEBYTECODE would make each start compile.
        return Launch(command, {"PYTHONPATH": str(SOURCES), "PYTHONDONTWRITEBYTECODE": ""})

    return launch


def our_version() -> str:
    """Return the versions of this checkout and of Python."""
    import hashrange

    return f"{getattr(hashrange, '__version__', 'of this checkout')}, Python {sys.version.split()[0]}"


def dynalite(kind: str) -> Callable[[int, Path], Launch]:
    """Dynalite on Node.js, without its artificial delays."""

    def launch(port: int, folder: Path) -> Launch:
        delays = [f"--{verb}TableMs=0" for verb in ("create", "update", "delete")]
        place = [] if kind == "memory" else ["--path", str(folder / "data")]
        return Launch(["node", str(peers.dynalite()), "--host", "127.0.0.1", "--port", str(port), *delays, *place])

    return launch


def dynamodb_local(kind: str) -> Callable[[int, Path], Launch]:
    """DynamoDB Local, the jar started directly, with Java's own choice of options."""

    def launch(port: int, folder: Path) -> Launch:
        home = peers.dynamodb_local()
        (folder / "data").mkdir(exist_ok=True)
        place = ["-inMemory"] if kind == "memory" else ["-dbPath", str(folder / "data")]
        libraries = f"-Djava.library.path={home / 'DynamoDBLocal_lib'}"
        jar = str(home / "DynamoDBLocal.jar")
        return Launch(["java", libraries, "-jar", jar, "-disableTelemetry", "-port", str(port), *place])

    return launch


def dynoxide(kind: str) -> Callable[[int, Path], Launch]:
    """Dynoxide, built in release mode."""

    def launch(port: int, folder: Path) -> Launch:
        (folder / "data").mkdir(exist_ok=True)
        place = [] if kind == "memory" else ["--db-path", str(folder / "data" / "bench.db")]
        return Launch([str(peers.dynoxide()), "serve", "--log", "quiet", "--port", str(port), *place])

    return launch


def ministack(port: int, _folder: Path) -> Launch:
    """MiniStack with all its services, which it offers together; in memory."""
    program = peers.python_program(peers.MINISTACK, "ministack")
    return Launch([str(program)], {"GATEWAY_PORT": str(port), "LOG_LEVEL": "ERROR"})


def moto(port: int, _folder: Path) -> Launch:
    """Moto's server; in memory."""
    program = peers.python_program(peers.MOTO, "moto_server")
    return Launch([str(program), "--host", "127.0.0.1", "--port", str(port)])


CONTENDERS = (
    Contender("ours-memory", "Hashrange, memory", "memory", ours("memory"), our_version, pipelines=True,
              loads_per_second=35_000),
    Contender("ours-disk", "Hashrange, durable on disk", "disk", ours("disk"), our_version, pipelines=True,
              loads_per_second=25_000),
    Contender("dynoxide-memory", "Dynoxide, memory", "memory", dynoxide("memory"), peers.dynoxide_version,
              loads_per_second=12_000),
    Contender("dynoxide-disk", "Dynoxide, disk", "disk", dynoxide("disk"), peers.dynoxide_version,
              loads_per_second=8_000),
    Contender("local-memory", "DynamoDB Local, memory", "memory", dynamodb_local("memory"),
              peers.dynamodb_local_version, warm_up_seconds=16, loads_per_second=4_000),
    Contender("local-disk", "DynamoDB Local, disk", "disk", dynamodb_local("disk"), peers.dynamodb_local_version,
              warm_up_seconds=16, loads_per_second=700),
    Contender("dynalite-memory", "dynalite, memory", "memory", dynalite("memory"), peers.dynalite_version,
              warm_up_seconds=5, loads_per_second=8_000),
    Contender("dynalite-disk", "dynalite, disk", "disk", dynalite("disk"), peers.dynalite_version, warm_up_seconds=5,
              loads_per_second=4_000),
    Contender("ministack-memory", "MiniStack, memory", "memory", ministack,
              partial(peers.python_version, peers.MINISTACK), loads_per_second=2_000),
    Contender("moto-memory", "moto, memory", "memory", moto, partial(peers.python_version, peers.MOTO),
              loads_per_second=1_000),
)  # fmt: skip
BY_NAME = {contender.name: contender for contender in CONTENDERS}
