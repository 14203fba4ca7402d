"""`python -m directranker` is the command `directranker`."""

from directranker.cli import main

if __name__ == "__main__":
    main()
