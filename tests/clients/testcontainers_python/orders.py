"""How does a Python program use Hashrange in a container?
With Testcontainers, one container for the program; needs a container engine.
"""

from typing import Any

import boto3
from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import HttpWaitStrategy

IMAGE = "hashrange/hashrange"


def hashrange() -> DockerContainer:
    """The container, which has started once the server answers."""
    return (
        DockerContainer(IMAGE)
        .with_command("serve --host 0.0.0.0 --in-memory")
        .with_exposed_ports(8000)
        .waiting_for(HttpWaitStrategy(8000, "/").for_status_code(200))
    )


def client_of(container: DockerContainer) -> Any:
    """A client of the database in the container. Each access key of 12 digits has tables of its own."""
    return boto3.client(
        "dynamodb",
        endpoint_url=f"http://{container.get_container_host_ip()}:{container.get_exposed_port(8000)}",
        region_name="us-east-1",
        aws_access_key_id="000000000001",
        aws_secret_access_key="any",
    )


def main() -> None:
    """Print the tables of the new database: there are none."""
    with hashrange() as container:
        print(client_of(container).list_tables()["TableNames"])


if __name__ == "__main__":
    main()
