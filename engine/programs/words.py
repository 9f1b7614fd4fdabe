"""How the tables of programs are written."""


def words_of(text: str) -> frozenset[str]:
    """The set of the words in a text."""
    return frozenset(text.split())
