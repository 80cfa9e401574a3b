"""Which Java runs Cassandra, and with which options?

Cassandra 5.0 is made for Java 11 and 17; its scripts refuse others, and the options here are those of 17.
Source: conf/jvm-server.options and conf/jvm17-server.options of Cassandra 5.0.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from hashrange.local_cluster.failures import ClusterFailure

JAVA_VERSION = 17
HOW_TO_GET = (
    f"Install Java {JAVA_VERSION} (openjdk-17-jre-headless, or brew install openjdk@17), or name it in JAVA_HOME."
)
TEMPORARY = "tmp"
"""The folder, in that of a node, into which Java unpacks libraries."""
_version_in = re.compile(r'version "(\d+)').search

EXPORTED = (
    "java.base/java.lang.ref",
    "java.base/jdk.internal.misc",
    "java.base/jdk.internal.ref",
    "java.management.rmi/com.sun.jmx.remote.internal.rmi",
    "java.rmi/sun.rmi.registry",
    "java.rmi/sun.rmi.server",
    "java.sql/java.sql",
)
OPENED = (
    "java.base/java.io",
    "java.base/java.lang",
    "java.base/java.lang.module",
    "java.base/java.lang.reflect",
    "java.base/java.util",
    "java.base/jdk.internal.loader",
    "java.base/jdk.internal.math",
    "java.base/jdk.internal.module",
    "java.base/jdk.internal.ref",
    "java.base/jdk.internal.reflect",
    "java.base/jdk.internal.util.jar",
    "java.base/sun.nio.ch",
    "jdk.management/com.sun.management.internal",
)
"""Packages of Java that Cassandra uses although they are not public."""


def find_java(environment: Mapping[str, str]) -> str:
    """The path of Java 17: that of JAVA_HOME, otherwise that of PATH. Raises ClusterFailure."""
    home = environment.get("JAVA_HOME")
    path = os.path.join(home, "bin", "java") if home else shutil.which("java", path=environment.get("PATH"))
    if path is None or not os.access(path, os.X_OK):
        raise ClusterFailure(f"Cassandra runs on Java, and {path or 'java'} was not found. {HOW_TO_GET}")
    told = subprocess.run(  # noqa: S603 - the person's own Java
        [path, "-version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    found = _version_in(told.stderr)
    if found is None or int(found[1]) != JAVA_VERSION:
        version = "no Java that tells its version" if found is None else f"Java {found[1]}"
        raise ClusterFailure(f"Cassandra 5.0 runs on Java {JAVA_VERSION}, and {path} is {version}. {HOW_TO_GET}")
    return path


def java_arguments(folder: str, jars: Sequence[str], heap_mb: int) -> list[str]:
    """What stands behind `java` for the node whose files are in `folder`."""
    (agent,) = (jar for jar in jars if os.path.basename(jar).startswith("jamm-"))
    properties = {
        "cassandra.config": f"file://{quote(folder)}/cassandra.yaml",
        "cassandra.storagedir": folder,
        "cassandra.logdir": folder,
        # All nodes know each other from the start, so a new one need not wait until it has heard of the others.
        "cassandra.ring_delay_ms": "0",
        "cassandra.skip_wait_for_gossip_to_settle": "0",
        "chronicle.analytics.disable": "true",
        "io.netty.tryReflectionSetAccessible": "true",
        "java.io.tmpdir": f"{folder}/{TEMPORARY}",
        "jdk.attach.allowAttachSelf": "true",
        "logback.configurationFile": f"{folder}/logback.xml",
    }
    return [
        f"-Xms{heap_mb}m",
        f"-Xmx{heap_mb}m",
        "-XX:TieredStopAtLevel=1",  # the second compiler would take the cores while nodes start
        "-XX:-UsePerfData",
        "-XX:+ExitOnOutOfMemoryError",
        f"-javaagent:{agent}",
        *(f"--add-exports={name}=ALL-UNNAMED" for name in EXPORTED),
        *(f"--add-opens={name}=ALL-UNNAMED" for name in OPENED),
        *(f"-D{name}={value}" for name, value in properties.items()),
        "-cp",
        os.pathsep.join(jars),
        "org.apache.cassandra.service.CassandraDaemon",
    ]
