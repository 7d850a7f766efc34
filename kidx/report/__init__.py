"""Answers in the formats and on the screens that people and programs read. Everything written to stdout is formatted
here: `formats` renders any typed table, `screens` shows one command's rows to people, `findings` holds what `verify`,
`diff` and `explain` print.
"""
