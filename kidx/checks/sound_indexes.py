"""Which indexes of a segment need no repair."""

from __future__ import annotations

from kidx.checks.engine.options import Options
from kidx.checks.engine.run import check_all
from kidx.checks.engine.targets import targets_of
from kidx.errors import CannotRead
from kidx.findings import NOTE
from kidx.logdir.names import INDEX_OF_KIND
from kidx.logdir.tree import Segment


def sound_indexes(segment: Segment) -> frozenset[str]:
    """The paths of a segment's indexes in which there is no error and no warning.

    Raises CannotRead where one cannot be read: whether it needs a repair is unknown.
    """
    indexes = [file.path for kind, file in segment.files.items() if kind in INDEX_OF_KIND]
    checked = check_all(targets_of(file.path for file in segment.files.values()), Options())
    wrong = {finding.file for finding in checked.findings if finding.severity != NOTE}
    for sentence in checked.unread:
        if any(sentence.startswith(path) for path in indexes):
            raise CannotRead(f"{sentence}; kidx rebuild --all replaces it unread")
    return frozenset(indexes) - wrong
