"""`python -m kidx`."""

from kidx.cli import main

main()
