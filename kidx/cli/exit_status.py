"""What kidx's exit statuses mean. 3 is never folded into 0 or 1."""

CLEAN = 0
FINDINGS = 1  # findings at or above --fail-level; or `diff` found differences that may not be
USAGE = 2
UNREADABLE = 3  # something could not be read, checked or (surgery) written
BUG = 70  # kidx itself failed
INTERRUPTED = 130  # Ctrl-C
