"""What kidx's exit statuses mean. 3 is never folded into 0 or 1. README and man pages take the words from here."""

CLEAN = 0
FINDINGS = 1
USAGE = 2
UNREADABLE = 3
BUG = 70
INTERRUPTED = 130

MEANINGS = {
    CLEAN: "Clean: the answer was given, and nothing at or above --fail-level was found.",
    FINDINGS: "Findings at or above --fail-level; or differences that healthy replicas do not have.",
    USAGE: "The command line makes no sense: an unknown option, no base offset to be had.",
    UNREADABLE: "Something could not be read, checked or written; never folded into 0 or 1.",
    BUG: "kidx itself failed (a bug); KIDX_TRACEBACK=1 shows where.",
    INTERRUPTED: "Interrupted by Ctrl-C.",
}
