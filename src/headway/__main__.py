"""`python -m headway` is the program `headway`."""

from headway.terminal.cli import main

main()
