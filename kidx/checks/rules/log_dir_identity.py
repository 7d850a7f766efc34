"""Whose a log dir is: meta.properties by itself, against other log dirs, and against the cluster's metadata."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations

from kidx.checks.rule import check
from kidx.checks.subjects.log_dirs import JudgedLogDir, JudgedLogDirs
from kidx.findings import ERROR, NOTE, WARNING, Finding, Rule

CLUSTER_ID_DIFFERS = Rule(
    code="KX522",
    name="cluster-id-differs",
    severity=ERROR,
    title="Log dirs with the same topics name different clusters",
    broker=(
        'A broker with both log dirs does not start ("BrokerMetadata is not consistent" in 3.5, "Invalid cluster.id '
        'in" in 3.9 and 4.3). Where it is the only log dir, 2.8 refuses (InconsistentClusterIdException) and a KRaft '
        "broker that is its own controller serves it."
    ),
    story=(
        "Log dirs of two clusters were mixed, or one meta.properties was edited or restored from elsewhere. Topic ids "
        "are random, so a shared one means the same cluster. Write the id of the majority into the file, or move the "
        "foreign log dir away, before the broker starts."
    ),
    repair="write the cluster.id of the other log dirs into meta.properties while the broker is stopped",
)

NODE_ID_DIFFERS = Rule(
    code="KX523",
    name="node-id-differs",
    severity=ERROR,
    title="meta.properties names another node than the cluster's metadata",
    broker=('Brokers of 2.8 to 4.3 do not start: "Stored node id 7 doesn\'t match previous node id 1".'),
    story=(
        "Each broker registers the ids of its log dirs (directory.id) with the controller. By that, this one belongs "
        "to another broker: the disk was put into the wrong machine, or node.id was edited. Correct node.id, or give "
        "the disk back, before the broker starts."
    ),
    repair="correct node.id in meta.properties while the broker is stopped",
)

DIRECTORY_ID_REPEATED = Rule(
    code="KX524",
    name="directory-id-repeated",
    severity=ERROR,
    title="Two log dirs have the same directory.id",
    broker='A broker with both does not start: "Duplicate directory ID" (3.9, 4.3).',
    story=(
        "One was copied from the other, meta.properties included. Remove directory.id from the copy while the broker "
        "is stopped: the broker makes a new one. The metadata knows only the old one, so what was assigned to the copy "
        "is then missing (KX526). Where all partitions of one are in the other, too, they are copies or stages of one "
        "log dir: a note."
    ),
    repair="remove directory.id from the copy's meta.properties while the broker is stopped",
)

CLUSTER_ID_SOME = Rule(
    code="KX527",
    name="cluster-id-some",
    severity=WARNING,
    title="cluster.id has Some() around the id",
    broker=(
        "2.8 does not start, because it compares the id with ZooKeeper's. 3.5 to 4.3 serve it as a cluster of one "
        "node; with another controller the broker does not start (InconsistentClusterIdException)."
    ),
    story=(
        "A known image wrote Scala's Some() around the id when it formatted the log dir. Write the id without it into "
        "every meta.properties of the cluster, while all brokers are stopped."
    ),
    repair="write the id without Some() into every meta.properties while the brokers are stopped",
)

META_PROPERTIES_WRONG = Rule(
    code="KX528",
    name="meta-properties-wrong",
    severity=ERROR,
    title="meta.properties lacks what a broker needs, or has what no broker writes",
    broker=(
        "Brokers of 2.8 to 4.3 do not start, before any log is opened: missing node id, unknown version, version 0 "
        "with the keys of version 1, or a reserved directory id (4.3). The mark of the clean stop stays. Without the "
        "file a log dir counts as not formatted."
    ),
    story=(
        "The file has version (0 with ZooKeeper, 1 with KRaft), broker.id or node.id, cluster.id and, since 3.7, "
        "directory.id. It was edited, or restored from a copy of another version. Write it as the broker's other log "
        "dirs have it, with a directory.id of its own, before the broker starts."
    ),
    repair="write meta.properties as the broker's other log dirs have it, with its own directory.id",
)

PARTITION_IN_TWO_LOG_DIRS = Rule(
    code="KX529",
    name="partition-in-two-log-dirs",
    severity=ERROR,
    title="Two log dirs of one broker have the same partition",
    broker='Brokers of 2.8 to 4.3 do not start: "Duplicate log directories found".',
    story=(
        "A move between disks was done by hand and the source was left. Compare them (`kidx diff`) and move the "
        "shorter one away before the broker starts."
    ),
    repair="compare both (`kidx diff`) and move the shorter one out of its log dir before the broker starts",
)

_SOME = "Some("


@check(JudgedLogDir, CLUSTER_ID_SOME)
def cluster_id_some(judged: JudgedLogDir) -> list[Finding] | None:
    """A cluster.id of a known bug."""
    cluster_id = judged.log_dir.identity.cluster_id
    if cluster_id is None or not cluster_id.startswith(_SOME):
        return None
    text = f"cluster.id={cluster_id[:100]}: the id is what stands in Some()"
    expected = cluster_id.removeprefix(_SOME).removesuffix(")")
    return [CLUSTER_ID_SOME.finding(judged.meta_properties, text, expected=expected, found=cluster_id)]


@check(JudgedLogDir, META_PROPERTIES_WRONG)
def meta_properties_wrong(judged: JudgedLogDir) -> Iterator[Finding]:
    """A meta.properties that no broker starts with."""
    if not judged.has_meta_properties:
        return
    identity = judged.log_dir.identity
    for problem in identity.problems:
        elsewhere = _SOME in problem.why or problem.why.startswith("it has no version")  # KX527, KX505
        if not elsewhere and not problem.unread:
            yield META_PROPERTIES_WRONG.finding(judged.meta_properties, problem.why)
    if identity.version not in (None, 0, 1):
        text = f"version={identity.version}; brokers know 0 and 1"
        yield META_PROPERTIES_WRONG.finding(judged.meta_properties, text, expected=[0, 1], found=identity.version)


@check(JudgedLogDirs, META_PROPERTIES_WRONG)
def meta_properties_missing(log_dirs: JudgedLogDirs) -> Iterator[Finding]:
    """Log dirs without meta.properties that have a broker's checkpoints, or lie next to one with the file: a warning,
    because a copy may have left it out.
    """
    groups: dict[str, list[JudgedLogDir]] = {}
    for judged in log_dirs.all:
        groups.setdefault(judged.above, []).append(judged)
    for group in groups.values():
        next_to_one = any(judged.has_meta_properties for judged in group)
        for judged in group:
            if not judged.has_meta_properties and (next_to_one or judged.log_dir.looks_like_one):
                why = "the log dir next to it has one" if next_to_one else "the broker's checkpoints are here"
                text = f"there is no meta.properties here, and {why}"
                yield META_PROPERTIES_WRONG.finding(judged.meta_properties, text, severity=WARNING)


@check(JudgedLogDir, NODE_ID_DIFFERS)
def node_id_differs(judged: JudgedLogDir) -> list[Finding] | None:
    """A directory.id that the metadata registers with another broker."""
    identity, metadata = judged.log_dir.identity, judged.metadata
    if metadata is None or identity.directory_id is None or identity.node_id is None:
        return None
    owners = [node for node, directories in metadata.brokers.items() if identity.directory_id in directories]
    if not owners or identity.node_id in owners:
        return None
    text = f"node.id={identity.node_id}; by __cluster_metadata this log dir (directory.id) is broker {owners[0]}'s"
    return [NODE_ID_DIFFERS.finding(judged.meta_properties, text, expected=owners[0], found=identity.node_id)]


@check(JudgedLogDirs, CLUSTER_ID_DIFFERS)
def cluster_id_differs(log_dirs: JudgedLogDirs) -> Iterator[Finding]:
    """Log dirs that share a topic's id and not the cluster's: those of the fewer, or all on a tie."""
    known = [judged for judged in log_dirs.all if judged.log_dir.identity.cluster_id is not None]
    if len({judged.log_dir.identity.cluster_id for judged in known}) < 2:
        return
    by_topic: dict[str, list[JudgedLogDir]] = {}
    for judged in known:
        for topic_id in judged.topic_ids:
            by_topic.setdefault(topic_id, []).append(judged)
    reported: set[int] = set()
    for sharing in by_topic.values():
        ids = Counter(judged.log_dir.identity.cluster_id for judged in sharing)
        if len(ids) < 2:
            continue
        most = max(ids.values())
        usual = [cluster_id for cluster_id, number in ids.items() if number == most]
        for judged in sharing:
            own = judged.log_dir.identity.cluster_id
            if id(judged) in reported or usual == [own]:
                continue
            reported.add(id(judged))
            other = next(j for j in sharing if j.log_dir.identity.cluster_id != own)
            there = other.log_dir.identity.cluster_id
            text = f"cluster.id={own}; {other.log_dir.directory} has topics of the same ids and cluster.id={there}"
            yield CLUSTER_ID_DIFFERS.finding(judged.meta_properties, text, expected=there, found=own)


@check(JudgedLogDirs, DIRECTORY_ID_REPEATED)
def directory_id_repeated(log_dirs: JudgedLogDirs) -> Iterator[Finding]:
    """Log dirs of one cluster with the same directory.id. Where both hold a partition they are stages of one."""
    groups: dict[tuple[str | None, str], list[JudgedLogDir]] = {}
    for judged in log_dirs.all:
        identity = judged.log_dir.identity
        if identity.directory_id is not None:
            groups.setdefault((identity.cluster_id, identity.directory_id), []).append(judged)
    reported: set[tuple[int, str]] = set()
    for group in groups.values():
        for pair in combinations(group, 2):
            one, two = pair
            copies = bool(one.names or two.names) and (one.names <= two.names or two.names <= one.names)
            if one.names and two.names and copies:
                severity = NOTE
            elif one.names & two.names or one.checkpointed & two.checkpointed:
                continue
            else:
                severity = ERROR
            for judged, other in (pair, pair[::-1]):
                if (id(judged), severity) in reported:
                    continue
                reported.add((id(judged), severity))
                directory_id = judged.log_dir.identity.directory_id
                text = f"directory.id={directory_id} is that of {other.log_dir.directory}, too"
                yield DIRECTORY_ID_REPEATED.finding(judged.meta_properties, text, found=directory_id, severity=severity)


@check(JudgedLogDirs, PARTITION_IN_TWO_LOG_DIRS)
def partition_in_two_log_dirs(log_dirs: JudgedLogDirs) -> Iterator[Finding]:
    """Partitions that two log dirs of a broker hold.

    Not where one log dir has all that the other has, or the checkpoints of both name the partition: these are copies or
    stages of one log dir.
    """
    for group in log_dirs.side_by_side():
        for one, two in combinations(group, 2):
            mine, other = one.log_dir.identity, two.log_dir.identity
            if (
                mine.node_id is None
                or mine.node_id != other.node_id
                or one.names <= two.names
                or two.names <= one.names
            ):
                continue
            if mine.directory_id == other.directory_id and mine.directory_id is not None:
                continue
            for name in sorted((one.names & two.names) - (one.checkpointed & two.checkpointed)):
                for judged, there in ((one, two), (two, one)):
                    partition = judged.log_dir.partition(*name)
                    if partition is not None:
                        text = f"{there.log_dir.directory}, another log dir of this broker, has this partition, too"
                        yield PARTITION_IN_TWO_LOG_DIRS.finding(partition.directory, text)
