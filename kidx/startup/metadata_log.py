"""__cluster_metadata-0 at a start: recovered, cut, or restarted at a snapshot.

Source: KafkaMetadataLog, SharedServer.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from kidx.errors import WrongFormat
from kidx.evidence import list_directory, open_evidence, read_file
from kidx.formats.checkpoints import parse_quorum_state
from kidx.formats.indexes import DEFAULT_INDEX_INTERVAL_BYTES
from kidx.logdir import LogDir
from kidx.logdir.cluster import ClusterMetadata
from kidx.logdir.log_dir import METADATA_TOPIC
from kidx.logdir.tree import Partition
from kidx.segments.scan import scan
from kidx.segments.walk import END
from kidx.startup.behaviours import BEHAVIOURS
from kidx.startup.checkpoint_file import read_checkpoint
from kidx.startup.log_loader import LoadedLog, LogSettings, load_log
from kidx.startup.outcome import DELETE, Action, BrokerRefuses
from kidx.startup.versions import BrokerVersion
from kidx.state.metadata import read_cluster_metadata
from kidx.state.replay import Moment

NAME = f"{METADATA_TOPIC}-0"
LEADER_EPOCHS = "leader-epoch-checkpoint"
_QUORUM_STATE = "quorum-state"
_SNAPSHOT = re.compile(r"([0-9]{20})-([0-9]{10})\.checkpoint")


class MetadataStart(NamedTuple):
    """The metadata log's own start, the cluster as it is known afterwards, and the quorum's voters."""

    log: LoadedLog
    metadata: ClusterMetadata
    voters: list[int]


def start_metadata_log(log_dir: LogDir, version: BrokerVersion) -> MetadataStart:
    """Load the metadata partition of a log dir, which has one. Raises BrokerRefuses."""
    directory = os.path.join(log_dir.directory, NAME)
    entries = list_directory(directory)
    names = {entry.name for entry in entries if entry.is_file()}
    voters = _voters(directory) if _QUORUM_STATE in names else []
    if LEADER_EPOCHS in names:
        path = os.path.join(directory, LEADER_EPOCHS)
        content = read_checkpoint(read_file(path), path, 0, malformed_is_io_error=False)
        if message := content.io_error or content.number_error:
            raise BrokerRefuses(BEHAVIOURS["leader-epochs-malformed"], message, path)
    settings = LogSettings(False, 0, 0, DEFAULT_INDEX_INTERVAL_BYTES)
    loaded = load_log(log_dir.directory, NAME, entries, settings, version)
    end = loaded.start.log_end_offset
    newest = max((match for name in names if (match := _SNAPSHOT.fullmatch(name))), key=lambda m: m[0], default=None)
    if newest is not None:
        path = os.path.join(directory, newest[0])
        _check_snapshot(path)
        if int(newest[1]) > end:
            end = int(newest[1])
            dropped = Action(
                DELETE, BEHAVIOURS["metadata-dropped"], f"restarts at {end}", log_dir.directory, NAME, file=directory
            )
            start = loaded.start._replace(log_start_offset=end, log_end_offset=end, recovery_point=end)
            loaded = LoadedLog(start, [*loaded.actions, dropped])
    return MetadataStart(loaded, read_cluster_metadata(Partition(directory, entries), Moment(offset=end)), voters)


def _voters(directory: str) -> list[int]:
    path = os.path.join(directory, _QUORUM_STATE)
    try:
        state = parse_quorum_state(read_file(path))
    except WrongFormat as e:
        raise BrokerRefuses(
            BEHAVIOURS["quorum-state-unusable"], f"java.io.UncheckedIOException: {path}: {e}", path
        ) from e
    voters = state.get("currentVoters")
    found = [v.get("voterId") for v in voters if isinstance(v, dict)] if isinstance(voters, list) else []
    return [v for v in found if isinstance(v, int)]


def _check_snapshot(path: str) -> None:
    """Raises BrokerRefuses where the newest snapshot has a wrong CRC or is torn."""
    with open_evidence(path) as evidence:
        scanned = scan(evidence)
        for window in scanned:
            if window.bad_crc:
                message = "org.apache.kafka.common.errors.CorruptRecordException: Record is corrupt"
                raise BrokerRefuses(BEHAVIOURS["metadata-snapshot-corrupt"], f"{message} in {path}", path)
        if scanned.ending is not None and scanned.ending.kind != END:
            message = f"Error loading metadata log record: {path} ends inside a batch"
            raise BrokerRefuses(
                BEHAVIOURS["metadata-snapshot-corrupt"], f"java.lang.IllegalStateException: {message}", path
            )
