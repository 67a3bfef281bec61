"""`python -m neuralgram`: the command, where its script is not on the path."""

from neuralgram.cli import main

if __name__ == "__main__":
    main()
