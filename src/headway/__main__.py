"""`python -m headway` is the program `headway`."""

from headway.cli import main

main()
