"""One run of `kidx dump`: file after file to the reader of its kind, and on to the printer."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from kidx.cli import complain, exit_status
from kidx.compat.dump_log_segments.dump import KAFKA_KINDS, KafkaDump, KafkaOptions
from kidx.errors import CannotRead, KidxError, UsageError
from kidx.evidence import Evidence, must_exist, open_evidence
from kidx.logdir.names import INDEX_OF_KIND, LOG, METADATA_SNAPSHOT, PRODUCER_SNAPSHOT, base_offset_of
from kidx.logdir.tree import expand
from kidx.report.formats.printer import Printer
from kidx.tables.index_entries import IndexReader, index_table
from kidx.tables.inputs import Input, inputs_of
from kidx.tables.selection import Selection, parse_bound

_LOGS = (LOG, METADATA_SNAPSHOT)
_TEXT_FILES = ("leader_epochs", "offset_checkpoint", "meta_properties", "partition_metadata", "quorum_state")
_ROW_KINDS = dict.fromkeys(_LOGS, LOG) | dict.fromkeys(_TEXT_FILES[2:], "property")  # kinds whose rows are alike
KINDS = (*INDEX_OF_KIND, *_LOGS, PRODUCER_SNAPSHOT, *_TEXT_FILES)


def dump_all(paths: Iterable[str], form: str, kind: str | None = None, **asked: Any) -> int:
    """Print what paths stand for, one file's failure being no other's; the exit status. `asked` is Dump's."""
    dump = Dump(form, kind, **asked)
    worst = exit_status.CLEAN
    for file in dump.inputs(list(expand(paths))):
        try:
            if isinstance(file, CannotRead):
                raise file
            dump.dump(file)
        except KidxError as e:
            complain(str(e))
            worst = max(worst, e.exit_status)
    return max(worst, dump.close())


class LogOptions(NamedTuple):
    """What is asked of logs alone; `key` is the text that records' keys must equal."""

    records: bool = False
    show: str | None = None
    redact: bool = False
    key: str | None = None
    producer_id: int | None = None
    producer_epoch: int | None = None
    leader_epoch: int | None = None
    decode: bool = False
    topic_family: str | None = None

    @property
    def must_equal(self) -> dict[str, int]:
        """Columns and the values that they must have."""
        wanted = {name: getattr(self, name) for name in ("producer_id", "producer_epoch", "leader_epoch")}
        return {name: value for name, value in wanted.items() if value is not None}


class Dump:
    """What was asked for, and where it is printed. `status` is the run's as far as it is about what was shown."""

    def __init__(
        self,
        form: str,
        kind: str | None = None,
        *,
        iso: bool = False,
        base_offset: int | None = None,
        low: str | None = None,
        high: str | None = None,
        head: int | None = None,
        tail: int | None = None,
        hexed: bool = False,
        **more: Any,
    ) -> None:
        self.form, self.kind, self.iso, self.base_offset, self.hexed = form, kind, iso, base_offset, hexed
        self.selection = Selection(parse_bound(low), parse_bound(high), head, tail)
        self.logs = LogOptions(**{name: more[name] for name in LogOptions._fields if name in more})
        self.status = exit_status.CLEAN
        kafka = KafkaOptions(**{name: more[name] for name in KafkaOptions._fields if name in more})
        self.kafka = KafkaDump(base_offset, kafka) if form == "kafka" else None
        if not self.kafka and kafka != KafkaOptions():
            raise UsageError("DumpLogSegments' own options go with --format kafka; elsewhere --records shows records")
        if self.kafka and (hexed or iso or self.selection != Selection() or self.logs != LogOptions()):
            raise UsageError(
                "--format kafka is DumpLogSegments' text, which can neither be narrowed nor shown otherwise"
            )

    def inputs(self, paths: list[str]) -> list[Input | CannotRead]:
        """The files that paths stand for, and what cannot be listed. Raises UsageError."""
        files = list(inputs_of(paths, self.kind, KAFKA_KINDS if self.kafka else KINDS))
        if self.form == "csv" and len({_ROW_KINDS.get(f.kind, f.kind) for f in files if isinstance(f, Input)}) > 1:
            raise UsageError("csv holds one kind of row, and these files have several; choose one with --kind")
        several = len(files) > 1 or any(os.path.isdir(p) for p in paths)
        self.printer = Printer(self.form, iso=self.iso, headings=several, any_schema="kidx.dump.v1")
        return files

    def dump(self, file: Input) -> None:
        """Print one file. Raises CannotRead, UsageError, WrongFormat."""
        if self.kafka:
            self.kafka.dump(file)
            return
        if file.kind not in KINDS:
            must_exist(file.path)
            raise UsageError(f"{file.path}: not a file that dump knows by its name; say what it is with --kind")
        if self.hexed and file.kind not in (*INDEX_OF_KIND, PRODUCER_SNAPSHOT):
            raise UsageError(f"{file.path}: --hex is for files of entries that are all alike: indexes, snapshots")
        with open_evidence(file.path) as evidence:
            constants = {"file": file.path}
            if file.kind in INDEX_OF_KIND:
                self._index(file, evidence, constants)
            elif file.kind in _LOGS:
                self._log(evidence, constants)
            else:
                self._state(file, evidence, constants)

    def close(self) -> int:
        """End the output; the exit status as far as it is about what was shown."""
        if self.kafka:
            self.kafka.close()
            return self.kafka.status
        self.printer.close()
        return self.status

    def _index(self, file: Input, evidence: Evidence, constants: dict[str, str]) -> None:
        index_format = INDEX_OF_KIND[file.kind]
        base_offset = base_offset_of(file.path, self.base_offset) if index_format.relative else 0
        reader = IndexReader(evidence, index_format, base_offset)
        self.printer.print(index_table(reader, self.selection, hexed=self.hexed, constants=constants))
        entries, zeros, torn = reader.extent
        if zeros:
            self._say(f"{file.path}: {zeros} bytes of zeros after its {entries} entries: preallocated, no entries")
        if torn:
            rest = evidence.read(evidence.size - torn, torn).hex(" ")
            ends = f"its last {torn} bytes are" if torn > 1 else "its last byte is"
            self._say(f"{file.path}: {ends} no whole entry (torn): {rest}")

    def _log(self, evidence: Evidence, constants: dict[str, str]) -> None:
        from kidx.tables.batches import LogReader, batch_table

        reader, logs = LogReader(evidence), self.logs
        if logs.decode or logs.topic_family is not None:
            from kidx.tables.decoded_records import DecodedTable, family_of

            decoded = DecodedTable(reader, self.selection, family_of(evidence.path, logs.topic_family))
            brief = self.form in ("text", "table")
            self.printer.print(decoded.table(constants, brief=brief), reader.summary)
            self.status = max(self.status, decoded.status)
        elif logs.records or logs.key is not None:
            from kidx.tables.records import RecordTable

            shown = "redact" if logs.redact else logs.show or ("text" if self.form in ("text", "table") else "hex")
            key = None if logs.key is None else os.fsencode(logs.key)
            records = RecordTable(reader, self.selection, logs.must_equal, key, shown)
            self.printer.print(records.table(constants), reader.summary)
            self.status = max(self.status, records.status)
        else:
            brief = self.form == "text"
            table = batch_table(reader, self.selection, logs.must_equal, brief=brief, constants=constants)
            self.printer.print(table, reader.summary)
        for complaint in reader.complaints():
            self._say(complaint)

    def _state(self, file: Input, evidence: Evidence, constants: dict[str, str]) -> None:
        from kidx.tables.state_files import producer_table, text_table

        if file.kind == PRODUCER_SNAPSHOT:
            table, said = producer_table(evidence, self.selection, hexed=self.hexed, constants=constants)
        else:
            table, said = text_table(evidence, file.kind, self.selection, constants)
        self.printer.print(table)
        for sentence in said:
            self._say(f"{file.path}: {sentence}")

    def _say(self, sentence: str) -> None:
        """What is worth knowing beside the rows; json has it in its summary."""
        if self.form != "json":
            complain(sentence)
