"""What kidx raises. Damage in a file is never an error: it is data, and checks report it as findings."""

from __future__ import annotations

from collections.abc import Iterable

from kidx.exit_status import UNREADABLE, USAGE


class KidxError(Exception):
    """Raised when a request cannot be carried out; the message is one sentence: what, where, what to do.

    `exit_status` is the status that the command ends with (kidx.exit_status).
    """

    exit_status = UNREADABLE


class UsageError(KidxError):
    """Raised when the request itself is wrong: an unknown base offset that is needed, an option that fits no file."""

    exit_status = USAGE


class CannotRead(KidxError):
    """Raised when a file is missing, unreadable, not a regular file, or changes while it is read."""


class ChangedWhileRead(CannotRead):
    """Raised when a file vanishes, shrinks or is rewritten while it is read: not corruption, so never a finding."""


class WrongFormat(KidxError):
    """Raised when the bytes are not those of the expected kind of file."""


class LimitExceeded(KidxError):
    """Raised when going on would take more than a documented limit (a decompression bomb, an endless stream)."""


class TooLarge(CannotRead, LimitExceeded):
    """Raised when a file is larger than the documented limit of its kind."""


class Refused(KidxError):
    """Raised when kidx refuses to write; nothing was written."""


class MissingExtra(KidxError):
    """Raised when a command needs a package that only an optional extra installs."""


def meant(word: str, known: Iterable[str]) -> str:
    """What a message adds about an unknown word: `; did you mean 'verify'?`, or nothing where none is similar."""
    from difflib import get_close_matches

    by_lower = {name.lower(): name for name in known}
    near = [by_lower[name] for name in get_close_matches(word.lower(), by_lower, n=2, cutoff=0.75)]
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
