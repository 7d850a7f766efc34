"""Options for tiered storage: where the remote tier is, and the keys to what is encrypted there."""

from __future__ import annotations

import click

from kidx.cli.options import all_of
from kidx.cli.values import PATH
from kidx.errors import UsageError


def _open_keys(context: click.Context, _: click.Parameter, given: tuple[str, ...]) -> None:
    if not given:
        return
    from kidx.evidence.tiered import key_files

    files = {}
    for text in given:
        key_id, equals, path = text.partition("=")
        if not (key_id and equals and path):
            raise UsageError(f"--key-file {text}: write ID=PEM, the id of a key pair and its private key's file")
        files[key_id] = path
    context.with_resource(key_files(files))


# For as long as the command runs.
key_file_option = click.option(
    "--key-file",
    multiple=True,
    metavar="ID=PEM",
    callback=_open_keys,
    expose_value=False,
    help="Tiered storage: the private key of a key pair, by the id that manifests name; may be repeated.",
)
remote_option = click.option(
    "--remote",
    multiple=True,
    metavar="TIER",
    type=PATH,
    help="Tiered storage: the directory or URI of the remote tier; may be repeated.",
)
tier_options = all_of(remote_option, key_file_option)
