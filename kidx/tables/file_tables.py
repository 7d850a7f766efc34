"""The table of a file: entries, batches, records or lines, whatever its kind has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from kidx.errors import UsageError
from kidx.evidence import Evidence, must_exist, open_evidence
from kidx.logdir.names import (
    INDEX_OF_KIND,
    LOG,
    METADATA_SNAPSHOT,
    PRODUCER_SNAPSHOT,
    base_offset_of,
    parse_file_name,
)
from kidx.segments.sought_key import SoughtKey
from kidx.tables.index_entries import IndexEntries, index_table
from kidx.tables.selection import EVERYTHING, Selection
from kidx.tables.table import Table

_LOGS = (LOG, METADATA_SNAPSHOT)
_PROPERTY_FILES = ("meta_properties", "partition_metadata", "quorum_state", "remote_manifest")
KINDS = (*INDEX_OF_KIND, *_LOGS, PRODUCER_SNAPSHOT, "leader_epochs", "offset_checkpoint", *_PROPERTY_FILES)
# Kinds whose rows are alike, by the name of one of them.
ROW_KINDS = {kind: kind for kind in KINDS} | dict.fromkeys(_LOGS, LOG) | dict.fromkeys(_PROPERTY_FILES, "property")


class LogView(NamedTuple):
    """What is read of a log: its batches; with `records` or a `key` its records; with `decode` or a `topic_family` its
    records decoded as those of one of Kafka's own topics.

    `key` is the key that records must have; `show` as in records.record_table. `brief` leaves out
    the columns of batches that people rarely need; `as_text` writes texts on one line, and a decoded record as text.
    """

    records: bool = False
    show: str = "hex"
    key: SoughtKey | None = None
    producer_id: int | None = None
    producer_epoch: int | None = None
    leader_epoch: int | None = None
    decode: bool = False
    topic_family: str | None = None
    brief: bool = False
    as_text: bool = False

    @property
    def equal(self) -> dict[str, int]:
        """Columns and the values that they must have."""
        wanted = {name: getattr(self, name) for name in ("producer_id", "producer_epoch", "leader_epoch")}
        return {name: value for name, value in wanted.items() if value is not None}


BATCHES = LogView()


@contextmanager
def open_table(
    path: str,
    kind: str = "",
    *,
    base_offset: int | None = None,
    wanted: Selection = EVERYTHING,
    view: LogView = BATCHES,
    hexed: bool = False,
) -> Iterator[Table]:
    """Open a file of one of KINDS as a table, whose rows can be read until the file is closed; all have its `path`.

    `kind` and `base_offset` are needed where the file's name does not tell them. `hexed` adds each field's bytes, for
    indexes and producer snapshots. Raises CannotRead, WrongFormat, UsageError.
    """
    if not kind and (name := parse_file_name(path)) is not None:
        kind = name.kind
    if kind not in KINDS:
        must_exist(path)
        raise UsageError(f"{path}: not a file that dump knows by its name; say what it is with --kind")
    if hexed and kind not in (*INDEX_OF_KIND, PRODUCER_SNAPSHOT):
        raise UsageError(f"{path}: --hex is for files of entries that are all alike: indexes, snapshots")
    constants = {"file": path}
    with open_evidence(path) as evidence:
        if kind in INDEX_OF_KIND:
            index_format = INDEX_OF_KIND[kind]
            base = base_offset_of(path, base_offset) if index_format.relative else 0
            entries = IndexEntries(evidence, index_format, base)
            yield index_table(entries, wanted, hexed=hexed, constants=constants)
        elif kind in _LOGS:
            yield _log_table(evidence, wanted, view, constants)
        else:
            from kidx.tables.state_files import producer_table, text_table

            if kind == PRODUCER_SNAPSHOT:
                yield producer_table(evidence, wanted, hexed=hexed, constants=constants)
            else:
                yield text_table(evidence, kind, wanted, constants=constants)


def _log_table(evidence: Evidence, wanted: Selection, view: LogView, constants: dict[str, str]) -> Table:
    if view.decode or view.topic_family is not None:
        from kidx.tables.decoded_records import decoded_table, family_of

        family = family_of(evidence.path, view.topic_family)
        return decoded_table(evidence, family, wanted, as_text=view.as_text, constants=constants)
    if view.records or view.key is not None:
        from kidx.tables.records import record_table

        return record_table(
            evidence,
            wanted,
            equal=view.equal,
            key=view.key,
            show=view.show,
            one_line=view.as_text,
            constants=constants,
        )
    from kidx.tables.batches import BRIEF_NAMES, NAMES, batch_table

    names = BRIEF_NAMES if view.brief else NAMES
    return batch_table(evidence, wanted, equal=view.equal, columns=names, constants=constants)
