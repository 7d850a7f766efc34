"""Check one directory: the very function that `kidx verify` runs file by file and the Spark scan runs a task at a time.

It yields findings and says what it covered; it prints nothing and decides no exit status.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kidx.checks.index_alone import check_index, index_extent
from kidx.checks.making import bounded
from kidx.checks.options import Options
from kidx.checks.siblings import check_siblings
from kidx.checks.surroundings import Surroundings
from kidx.checks.targets import Target
from kidx.checks.transaction_index import check_transaction_index, transaction_extent
from kidx.errors import CannotRead, ChangedWhileRead, UsageError
from kidx.evidence import list_directory
from kidx.findings import Coverage, Finding
from kidx.formats.indexes import TRANSACTION_INDEX
from kidx.logdir.names import INDEX_OF_KIND, parse_file_name
from kidx.logdir.tree import DataFile, Partition


@dataclass(slots=True)
class Checked:
    """What a check found, what it covered, and one sentence for everything it could not read. Picklable."""

    findings: list[Finding] = field(default_factory=list)
    coverage: Coverage = field(default_factory=Coverage)
    unread: list[str] = field(default_factory=list)


def check_target(target: Target, options: Options) -> Checked:
    """Check what a path argument meant. Nothing a file holds raises; what cannot be read is in `unread`."""
    try:
        partition = Partition(target.directory, list_directory(target.directory or "."))
    except CannotRead as e:
        if target.names is None:
            return Checked(unread=[str(e)], coverage=Coverage(unreadable=1))
        partition = Partition(target.directory, [])  # its files may be readable all the same
    return check_partition(partition, options, target.names)


def check_partition(partition: Partition, options: Options, names: dict[str, str] | None = None) -> Checked:
    """Check a directory's files, or those of `names` (file name: path asked for) in the light of the others."""
    done = Checked()
    surroundings = Surroundings(partition)
    for file in partition.files if names is None else _asked_for(names, done):
        _check_file(file, surroundings, options, done)
    if names is None:
        done.findings += check_siblings(partition)
    done.findings = [f for f in done.findings if options.wants(f)]
    return done


def _asked_for(names: dict[str, str], done: Checked) -> Iterator[DataFile]:
    for name, path in names.items():
        known = parse_file_name(name)
        if known is not None:
            yield DataFile(path, known)
            continue
        done.unread.append(f"{path}: none of Kafka's data files by its name, so not checked")
        done.coverage.unreadable += 1


def _check_file(file: DataFile, surroundings: Surroundings, options: Options, done: Checked) -> None:
    index_format = INDEX_OF_KIND.get(file.kind)
    if index_format is None:
        return
    try:
        with file.open() as evidence:
            facts = surroundings.index_facts(file, options)
            transactions = index_format is TRANSACTION_INDEX
            extent = transaction_extent(evidence) if transactions else index_extent(evidence, index_format)
            check = (
                check_transaction_index(evidence, facts, extent)
                if transactions
                else check_index(evidence, index_format, facts, extent)
            )
            found = list(bounded(check))
            if evidence.changed() and not options.live:
                raise ChangedWhileRead(f"{file.path}: it changed while it was read; try again, or with --live")
    except (CannotRead, UsageError) as e:
        done.unread.append(str(e))
        done.coverage.unreadable += 1
        return
    done.findings += found
    done.coverage.files += 1
    done.coverage.entries += extent.entries
    done.coverage.bytes_checked += evidence.size
