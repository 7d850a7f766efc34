"""Take the pictures of terminals in docs/pictures/: `make screens`. Commands run in a pseudo-terminal, in colour.

What they print there is drawn by rich's own export. A test holds the pictures' words against what is printed now.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import tempfile
from html import unescape
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs/pictures"
WIDTH = 92

_COPY = "cp -r fixtures/kafka-4.3.1/clean/default-interval-0 orders-3"
_DAMAGE = (
    r"printf '\0\0\0\14\0\0\215\120' | dd of=orders-3/00000000000000000000.index bs=8 seek=7 conv=notrunc status=none"
)
# name: (title, what is done unseen before, the commands that are shown)
SCREENS = {
    "verify": (
        "A damaged index",
        [_COPY, _DAMAGE],
        ["kidx verify orders-3"],
    ),
    "mend": (
        "From a skipped record to a mended index",
        [_COPY, _DAMAGE],
        [
            "kidx lookup orders-3 --offset 300",
            "kidx rebuild --dry-run --index-interval-bytes 4096 orders-3",
            "kidx rebuild --in-place --index-interval-bytes 4096 orders-3",
            "kidx lookup orders-3 --offset 300",
            "kidx verify orders-3",
        ],
    ),
    "lookup": (
        "A look-up as the broker does it",
        ["cp -r fixtures/kafka-4.3.1/clean/pages14-0 orders-3"],
        [
            "kidx lookup --trace-pages orders-3/00000000000000000000.index 7000",
            "kidx trace orders-3/00000000000000000000.index 7168",
        ],
    ),
}
# rich's frame without its web fonts: a page that shows a picture loads nothing from elsewhere.
_FRAME = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; \
font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: system-ui, sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def seen(name: str) -> str:
    """What a terminal shows of a screen's commands, prompts included, with its escape sequences."""
    from tests.transcripts.shell import Shell

    _, before, shown = SCREENS[name]
    with tempfile.TemporaryDirectory() as home:
        shell = Shell(Path(home))
        shell.environment |= {"COLUMNS": str(WIDTH), "TERM": "xterm-256color"}
        for command in before:
            assert not list(shell.run(command)), command
        return "\n".join(
            f"\x1b[1;32m$\x1b[0m \x1b[1m{command}\x1b[0m\n{_in_terminal(shell, command)}" for command in shown
        )


def _in_terminal(shell: object, command: str) -> str:
    """What a command prints where its standard output is a terminal."""
    ours, its = pty.openpty()
    process = subprocess.Popen(
        ["sh", "-c", command],
        cwd=shell.home,  # type: ignore[attr-defined]
        env=shell.environment,  # type: ignore[attr-defined]
        stdin=subprocess.DEVNULL,
        stdout=its,
        stderr=subprocess.PIPE,  # no terminal, so no progress, which is only drawn where a command takes long
    )
    os.close(its)
    printed = b""
    try:
        while data := os.read(ours, 65536):
            printed += data
    except OSError:  # Linux says so when the last writer has gone
        pass
    finally:
        os.close(ours)
    _, complaints = process.communicate()
    assert not complaints, complaints
    return printed.decode().replace("\r\n", "\n")


def drawn(name: str) -> str:
    """A screen as SVG."""
    title = SCREENS[name][0]
    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115
    console.print(Text.from_ansi(seen(name)), highlight=False, soft_wrap=False)
    return console.export_svg(title=title, theme=SVG_EXPORT_THEME, code_format=_FRAME, unique_id=f"kidx-{name}")


def words_seen(name: str) -> str:
    """What a terminal shows of a screen now, without spaces and colours."""
    return re.sub(r"\s|\x1b\[[0-9;]*[A-Za-z]", "", seen(name))


def words_of(svg: str) -> str:
    """What a picture's terminal says, without spaces: rich cuts text differently from version to version."""
    matrix = svg.partition('-matrix">')[2]
    return re.sub(r"\s", "", unescape(re.sub(r"<[^>]*>", "", matrix)).replace("\xa0", ""))


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    for name in SCREENS:
        (PICTURES / f"screen-{name}.svg").write_text(drawn(name), encoding="utf-8")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
