"""Errors that a person can act on."""


class UserError(Exception):
    """Something went wrong that the reader can mend: ``what`` happened and what ``todo`` about it.

    Both are plain sentences; pages show them as they are, the command line prints them and exits with 1.
    """

    def __init__(self, what: str, todo: str) -> None:
        super().__init__(f"{what} {todo}")
        self.what = what
        self.todo = todo
