"""The cluster that log dirs belong to: topics by id, settings, assignments, from the metadata log at hand."""

from __future__ import annotations

import shutil
from pathlib import Path

from kidx.logdir import LogDir
from kidx.logdir.log_dir import partition_identity
from kidx.state.metadata import cluster_of
from tests.support import OWN_FIXTURES as FIXTURES

CLEAN = FIXTURES / "kafka-4.3.1" / "clean"
TWO_DIRS = FIXTURES / "starts" / "two-dirs"


def test_every_partition_has_the_topic_id_that_the_metadata_gives_it() -> None:
    for directory in (CLEAN, FIXTURES / "kafka-3.9.1" / "clean", TWO_DIRS / "d1", TWO_DIRS / "d2"):
        log_dir = LogDir(str(directory))
        cluster = cluster_of([log_dir])
        for partition in log_dir.partitions:
            if partition.name is None or partition.name.topic == "__cluster_metadata":
                continue
            topic = cluster.topic(partition.name.topic)
            assert topic is not None and topic.topic_id == partition_identity(partition).topic_id
            assert cluster.topics[topic.topic_id] is topic
            assert topic.assignments[partition.name.partition].replicas == (log_dir.identity.node_id,)


def test_a_log_dir_has_what_is_assigned_to_it() -> None:
    cluster = cluster_of([str(TWO_DIRS / "d1"), str(TWO_DIRS / "d2")])
    assert cluster.metadata is not None and cluster.metadata.problems == ()
    ids = [d.identity.directory_id for d in cluster.log_dirs]
    assert sorted(cluster.metadata.brokers[1]) == sorted(i for i in ids if i)
    for log_dir in cluster.log_dirs:
        here = {p.name[:2] for p in log_dir.partitions if p.name and p.name.topic != "__cluster_metadata"}
        assert here and cluster.assigned_to(log_dir.identity.directory_id or "") == here


def test_the_metadata_log_of_a_sibling_serves(tmp_path: Path) -> None:
    cluster = cluster_of([str(TWO_DIRS / "d2")])  # the log is in d1
    assert cluster.metadata is not None
    assert cluster.metadata.directory == str(TWO_DIRS / "d1" / "__cluster_metadata-0")
    shutil.copytree(TWO_DIRS / "d2", tmp_path / "alone")
    alone = cluster_of([str(tmp_path / "alone")])
    assert (alone.metadata, alone.topics, alone.topic("orders"), alone.setting("orders", "retention.ms")) == (
        None, {}, None, None,
    )  # fmt: skip
    assert alone.cluster_ids == cluster.cluster_ids


def test_settings_come_from_the_topic_the_broker_or_the_cluster() -> None:
    cluster = cluster_of([str(CLEAN)])
    assert cluster.setting("codecs", "index.interval.bytes") == ("512", "topic")
    assert cluster.number("codecs", "index.interval.bytes") == 512
    assert cluster.setting("default-interval", "index.interval.bytes") is None
    assert cluster.number("default-interval", "index.interval.bytes") is None
    assert cluster.setting("__consumer_offsets", "cleanup.policy") == ("compact", "topic")
    assert cluster.number("__consumer_offsets", "cleanup.policy") is None
    assert cluster.setting("plain", "min.insync.replicas", 1) == ("1", "cluster")


def test_damage_to_the_metadata_log_is_a_problem(tmp_path: Path) -> None:
    root = tmp_path / "d1"
    shutil.copytree(TWO_DIRS / "d1", root)
    metadata = root / "__cluster_metadata-0"
    for file in metadata.glob("*.checkpoint"):
        file.unlink()
    log = next(metadata.glob("*.log"))
    log.write_bytes(log.read_bytes()[:-30])
    found = cluster_of([str(root)]).metadata
    assert found is not None and found.topics
    assert [problem.path for problem in found.problems] == [str(log)]
    log.unlink()
    gone = cluster_of([str(root)]).metadata
    assert gone is not None and not gone.topics and "no log and no snapshot" in gone.problems[0].why
