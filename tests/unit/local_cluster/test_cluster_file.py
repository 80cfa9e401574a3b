"""What is remembered of a cluster is read back, or refused in a sentence."""

from pathlib import Path

import pytest

from hashrange.local_cluster.cluster_file import (
    FILE,
    CassandraNode,
    ClusterRecord,
    HashrangeServer,
    read_record,
    write_record,
)
from hashrange.local_cluster.failures import ClusterFailure
from hashrange.local_cluster.processes import ProcessMark

RECORD = ClusterRecord(
    commitlog_sync="batch",
    heap_mb=384,
    keyspace="hashrange",
    cql_port=9042,
    storage_port=7000,
    nodes=[CassandraNode("1", "127.9.9.1", ProcessMark(12, "today")), CassandraNode("2", "127.9.9.2")],
    servers=[HashrangeServer("s1", "http://127.0.0.1:8000")],
    server_options=["--access-log"],
)


def test_a_record_is_read_back(tmp_path: Path) -> None:
    assert read_record(str(tmp_path)) is None
    write_record(str(tmp_path), RECORD)
    assert read_record(str(tmp_path)) == RECORD


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "is damaged"),
        ('{"version": 1}', "is damaged"),
        ('{"version": 2, "new": true}', "is of version 2, and this Hashrange knows 1"),
    ],
)
def test_what_cannot_be_read_is_told(content: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(content, encoding="utf-8")
    with pytest.raises(ClusterFailure, match=sentence) as failure:
        read_record(str(tmp_path))
    assert str(tmp_path / FILE) in str(failure.value)


def test_a_folder_in_the_place_of_the_file_is_told(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(ClusterFailure, match=r"cannot be read"):
        read_record(str(tmp_path))
