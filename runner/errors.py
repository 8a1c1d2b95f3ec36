"""The one exception that a user is meant to read."""


class RunnerError(Exception):
    """Something the user can mend, said in one sentence: what is wrong, where, and how to mend it.

    Raised where the fact is known and printed once, in cli.py, without a traceback.
    ``exit_code`` is 2 for wrong use or input and 1 for a failure on the way; ``code`` is for programs.
    """

    def __init__(self, sentence: str, *, code: str = "bad_input", exit_code: int = 2) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.code = code
        self.exit_code = exit_code
