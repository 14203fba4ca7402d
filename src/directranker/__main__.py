"""Run the command line interface by `python -m directranker`."""

from directranker.cli import main

if __name__ == "__main__":
    main()
