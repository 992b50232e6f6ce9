"""What stops a run over a corpus, in one line that says what to do."""


class CorpusError(Exception):
    """The text is for the user."""
