"""meta.properties at a start: whether the log dirs belong together. Source: MetaProperties, MetaPropertiesEnsemble.

The node id and the cluster of a broker's configuration are in no log dir. What stands for them: the cluster's metadata,
which knows each log dir by its directory.id and node, and the first log dir's cluster.id.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kidx.errors import CannotRead
from kidx.evidence import exists, is_directory, read_file
from kidx.formats.checkpoints import parse_properties
from kidx.logdir import LogDir
from kidx.logdir.cluster import ClusterMetadata
from kidx.logdir.log_dir import META_PROPERTIES, RESERVED_DIRECTORY_IDS
from kidx.startup.behaviours import BEHAVIOURS
from kidx.startup.outcome import BrokerRefuses
from kidx.startup.versions import BrokerVersion

_RUNTIME = "java.lang.RuntimeException: "
_RANDOM_UUID_VERSION = 4


class MetaProperties(NamedTuple):
    """What a usable meta.properties says."""

    log_dir: str
    node_id: int | None
    cluster_id: str | None
    directory_id: str | None


def read_meta_properties(log_dirs: Sequence[LogDir], version: BrokerVersion) -> list[MetaProperties]:
    """The log dirs' meta.properties, those that can be read. Raises BrokerRefuses where the broker would end."""
    read, missing = [], []
    for log_dir in log_dirs:
        if not any(entry.name == META_PROPERTIES for entry in log_dir.entries):
            missing.append(log_dir.directory)
            continue
        found = _read(log_dir.directory, version)
        if found is not None:
            read.append(found)
    if version.kraft:
        if not read:
            raise BrokerRefuses(BEHAVIOURS["meta-missing"], f"{_RUNTIME}No readable meta.properties files found.")
        _verify(read, version)
        if missing:
            message = (
                f"No `meta.properties` found in {missing[0]} (have you run `kafka-storage.sh` to format the directory?)"
            )
            raise BrokerRefuses(BEHAVIOURS["meta-missing"], _RUNTIME + message, missing[0])
    else:
        _verify(read, version)
    return read


def _read(log_dir: str, version: BrokerVersion) -> MetaProperties | None:
    """MetaProperties.Builder: None where it throws, which counts as unreadable."""
    path = os.path.join(log_dir, META_PROPERTIES)
    properties = parse_properties(read_file(path))
    number = properties.get("version", "0" if version.kraft else "")
    if number not in ("0", "1") or (not version.kraft and number != "0"):
        return None
    node = properties.get("broker.id" if number == "0" else "node.id")
    node_id = int(node) if node is not None and re.fullmatch(r"-?[0-9]{1,9}", node) else None
    if number == "1" and (node_id is None or "cluster.id" not in properties):
        return None
    return MetaProperties(log_dir, node_id, properties.get("cluster.id"), properties.get("directory.id"))


def _verify(read: Sequence[MetaProperties], version: BrokerVersion) -> None:
    seen: dict[str, str] = {}
    for each in read:
        path = os.path.join(each.log_dir, META_PROPERTIES)
        if each.node_id is None and version.kraft:
            raise BrokerRefuses(
                BEHAVIOURS["meta-no-node"], f"{_RUNTIME}Error: node ID not found in {each.log_dir}", path
            )
        if each.node_id != read[0].node_id:
            raise _other_node(path, each.node_id, read[0].node_id)
        if each.cluster_id != read[0].cluster_id:
            message = f"Invalid cluster.id in: {path}. Expected {read[0].cluster_id}, but read {each.cluster_id}"
            raise BrokerRefuses(BEHAVIOURS["meta-other-cluster"], _RUNTIME + message, path)
        if not version.kraft and each.cluster_id is not None and not _is_random_uuid(each.cluster_id):
            message = f"doesn't match stored clusterId Some({each.cluster_id}) in meta.properties."
            message = f"kafka.common.InconsistentClusterIdException: The Cluster ID of ZooKeeper {message}"
            raise BrokerRefuses(BEHAVIOURS["meta-cluster-id-not-generated"], message, path)
        if each.directory_id is not None and version.kraft:
            number = _uuid_number(each.directory_id)
            if number is not None and number < RESERVED_DIRECTORY_IDS:
                message = f"Invalid reserved directory ID {each.directory_id} found in {each.log_dir}"
                raise BrokerRefuses(BEHAVIOURS["meta-reserved-directory"], _RUNTIME + message, path)
            other = seen.setdefault(each.directory_id, each.log_dir)
            if other != each.log_dir:
                message = (
                    f"Duplicate directory ID Optional[{each.directory_id}] found. It was the ID of {other}, "
                    f"but also of {each.log_dir}"
                )
                raise BrokerRefuses(BEHAVIOURS["meta-same-directory"], _RUNTIME + message, path)


def check_node(read: Sequence[MetaProperties], metadata: ClusterMetadata, voters: Sequence[int]) -> None:
    """Raises BrokerRefuses where the metadata gives a log dir to another node than its meta.properties does."""
    for each in read:
        owner = next((node for node, ids in metadata.brokers.items() if each.directory_id in ids), None)
        if owner is None and len(voters) == 1 and each.node_id not in metadata.brokers:
            owner = voters[0]  # the only controller, whose quorum-state lies here
        if owner is not None and each.node_id is not None and owner != each.node_id:
            raise _other_node(os.path.join(each.log_dir, META_PROPERTIES), each.node_id, owner)


def unknown_to_metadata(read: Sequence[MetaProperties], metadata: ClusterMetadata) -> Iterator[MetaProperties]:
    """The log dirs that the metadata does not list among their broker's."""
    for each in read:
        known = metadata.brokers.get(each.node_id if each.node_id is not None else -1, ())
        if known and each.directory_id not in known:
            yield each


def is_log_dir(path: str) -> bool:
    """Whether it is a directory: a file in its place goes offline. Raises CannotRead where there is nothing."""
    if is_directory(path):
        return True
    if not exists(path):
        raise CannotRead(f"{path}: no such file or directory")
    return False


def _other_node(path: str, stored: int | None, known: int | None) -> BrokerRefuses:
    message = (
        f"Stored node id {stored} doesn't match previous node id {known} in {path}. If you moved your data, "
        "make sure your configured node id matches. If you intend to create a new node, you should remove all data in "
        "your data directories."
    )
    return BrokerRefuses(BEHAVIOURS["meta-other-node"], _RUNTIME + message, path)


def _uuid_number(text: str) -> int | None:
    import binascii

    try:
        data = binascii.a2b_base64(text.replace("-", "+").replace("_", "/") + "==")
    except ValueError:
        return None
    return int.from_bytes(data) if len(data) == 16 else None


def _is_random_uuid(text: str) -> bool:
    """Whether a cluster.id can be ZooKeeper's: a random UUID (CoreUtils.generateUuidAsBase64)."""
    number = _uuid_number(text)
    return number is not None and number >> 76 & 0xF == _RANDOM_UUID_VERSION
