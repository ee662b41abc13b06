"""`python -m neuid3` is the command `neuid3`."""

from neuid3.cli.main import main

if __name__ == "__main__":
    main()
