"""Where do Cassandra's jars come from? Maven fetches them once, into the user's cache; each start compares them with
the digests that the package brings along.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping

from hashrange.local_cluster.failures import ClusterFailure

CASSANDRA_VERSION = "5.0.9"
DIGESTS_FILE = os.path.join(os.path.dirname(__file__), f"cassandra-{CASSANDRA_VERSION}.sha256")
"""A line `DIGEST  NAME` for each jar, as `sha256sum` writes and checks them."""
FETCH_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.9.0:copy-dependencies"
_POM = f"""<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>hashrange</groupId>
  <artifactId>jars</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.cassandra</groupId>
      <artifactId>cassandra-all</artifactId>
      <version>{CASSANDRA_VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""
_TOLD_LINES = 3
"""Lines of Maven's output that a failure repeats: the first ones say what is wrong."""


def jar_folder(environment: Mapping[str, str]) -> str:
    """The folder of the jars in the user's cache."""
    cache = environment.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "hashrange", f"cassandra-{CASSANDRA_VERSION}")


def listed_digests() -> dict[str, str]:
    """Name of each jar → its SHA-256 in hexadecimal digits."""
    with open(DIGESTS_FILE, encoding="ascii") as file:
        return {name: digest for digest, name in (line.split() for line in file)}


def require_jars(environment: Mapping[str, str], tell: Callable[[str], None]) -> list[str]:
    """The paths of all jars, which are fetched if one is missing or damaged. Raises ClusterFailure.

    Some 0.2 s if all are there. `tell` is called with a line about each step that takes long, or is a surprise.
    """
    folder, digests = jar_folder(environment), listed_digests()
    wrong = _wrong_jars(folder, digests)
    if wrong:
        for name in wrong:
            if os.path.exists(os.path.join(folder, name)):
                tell(f"{os.path.join(folder, name)} is damaged; it is fetched again.")
        tell(f"Fetching Cassandra {CASSANDRA_VERSION} through Maven: {len(digests)} jars, 67 MB.")
        _fetch(folder, wrong, digests, environment)
    return [os.path.join(folder, name) for name in digests]


def _wrong_jars(folder: str, digests: Mapping[str, str], names: Iterable[str] | None = None) -> list[str]:
    """The jars that are missing or not what they should be."""
    return [name for name in names or digests if _digest_of(os.path.join(folder, name)) != digests[name]]


def _digest_of(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def _fetch(folder: str, names: list[str], digests: Mapping[str, str], environment: Mapping[str, str]) -> None:
    """Let Maven fetch all jars beside `folder`, and move those that are named into it, once they are right."""
    program = shutil.which("mvn", path=environment.get("PATH"))
    if program is None:
        raise ClusterFailure(
            "Cassandra's jars are fetched by Maven, and mvn was not found. Install Maven (apt-get install maven, or"
            f" brew install maven), or copy the jars that {DIGESTS_FILE} lists into {folder}."
        )
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=os.path.dirname(folder), prefix="fetched-") as fetched:
            _run_maven(program, fetched, environment)
            wrong = _wrong_jars(fetched, digests, names)
            if wrong:
                raise ClusterFailure(
                    f"{wrong[0]}, as Maven has it, is not the file with the SHA-256 {digests[wrong[0]]}. Remove it from"
                    " Maven's repository (~/.m2/repository), so that it is fetched again."
                )
            for name in names:
                os.replace(os.path.join(fetched, name), os.path.join(folder, name))
    except OSError as error:
        raise ClusterFailure(
            f"{folder} cannot be written: {error.strerror}. Name another cache folder in XDG_CACHE_HOME."
        ) from error


def _run_maven(program: str, folder: str, environment: Mapping[str, str]) -> None:
    """Let Maven copy all jars into a folder. Raises ClusterFailure, OSError."""
    pom = os.path.join(folder, "pom.xml")
    with open(pom, "w", encoding="ascii") as file:
        file.write(_POM)
    done = subprocess.run(  # noqa: S603 - the person's own Maven
        [program, "-B", "-q", "-f", pom, FETCH_GOAL, "-DincludeScope=runtime", f"-DoutputDirectory={folder}"],
        env=dict(environment), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        told = " ".join((done.stdout + done.stderr).splitlines()[:_TOLD_LINES])
        raise ClusterFailure(f"mvn could not fetch Cassandra's jars: {told}")
