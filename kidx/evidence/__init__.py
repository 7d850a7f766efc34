"""The only place where a data file is opened: read-only, bounded, leaving no trace.

`file` reads what is open, `limits` bounds what is read as a whole, `local` opens files and standard input, `remote`
opens object stores, `listing` knows names, `page_cache` reads without changing what the system has cached. Callers
import from here.
"""

from kidx.evidence.entry import Entry
from kidx.evidence.file import Evidence, from_bytes, reading_rate, system_failures
from kidx.evidence.limits import INDEX_BYTES, SMALL_FILE_BYTES
from kidx.evidence.listing import (
    STDIN_NAMES,
    absolute,
    exists,
    file_size,
    is_directory,
    is_file,
    is_uri,
    list_directory,
    must_exist,
)
from kidx.evidence.local import STREAM_LIMIT_BYTES, open_evidence, open_inside, read_file

__all__ = [
    "INDEX_BYTES",
    "SMALL_FILE_BYTES",
    "STDIN_NAMES",
    "STREAM_LIMIT_BYTES",
    "Entry",
    "Evidence",
    "absolute",
    "exists",
    "file_size",
    "from_bytes",
    "is_directory",
    "is_file",
    "is_uri",
    "list_directory",
    "must_exist",
    "open_evidence",
    "open_inside",
    "read_file",
    "reading_rate",
    "system_failures",
]
