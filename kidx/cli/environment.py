"""The environment variables that kidx heeds. README and man pages take the words from here."""

VARIABLES = {
    "NO_COLOR": "When set and not empty, no colour, unless `--color always` asks for it.",
    "TERM": "No colour where it is `dumb`.",
    "KIDX_TRACEBACK": "When set and not empty, a bug of kidx shows its traceback.",
}
