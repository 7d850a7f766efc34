"""The exit statuses of kidx. README and man pages take the texts from here."""

CLEAN = 0
FINDINGS = 1
USAGE = 2
UNREADABLE = 3
BUG = 70
INTERRUPTED = 130

MEANINGS = {
    CLEAN: "Clean: the command succeeded, with no findings at or above --fail-level.",
    FINDINGS: "Findings at or above --fail-level; or differences that healthy replicas do not have.",
    USAGE: "The command line is wrong: an unknown option, a base offset that is needed and unknown.",
    UNREADABLE: "Something could not be read, checked or written. This is never reported as 0 or 1.",
    BUG: "kidx itself failed (a bug); KIDX_TRACEBACK=1 shows where.",
    INTERRUPTED: "Interrupted by Ctrl-C.",
}
