"""`python -m ctxkit`: the command line."""

from ctxkit.cli import main

main()
