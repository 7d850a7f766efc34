"""Everything that writes. Nothing else in kidx opens a file for writing, and nothing here writes without an explicit
command.

A command computes the new bytes first (append, cut, rebuild: pure functions of the old bytes or the log), shows them
(--dry-run), and hands them to `replace`, the one place where a file is replaced: written under another name, flushed,
renamed, with a backup and a journal, so that a crash leaves the old file or the new one, whole, and `kidx undo` brings
it back.
"""
