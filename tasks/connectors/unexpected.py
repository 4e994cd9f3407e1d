"""The error for a record of a log that is not as its tool writes them."""

from collections.abc import Iterator
from contextlib import contextmanager

from assay.evalcore.errors import BadInput
from assay.tasks.connectors.place import Place

# what taking apart a value of another kind than expected raises, a number that is too large included
_UNEXPECTED = (
    KeyError, IndexError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError, EOFError,
    NotImplementedError,
)
_LONGEST = 200      # characters of what an error says


@contextmanager
def read_as(place: Place, record: str, written: str, whole: str = "file") -> Iterator[None]:
    """While a record is taken apart, whatever it lacks is BadInput.

    record: which one, for people; written: "MLflow writes traces"; whole: what the place is called
    """
    try:
        yield
    except _UNEXPECTED as error:
        says = str(error).encode(errors="backslashreplace").decode()[:_LONGEST]
        raise BadInput(
            f"{place.given}: {record} is not as {written} ({type(error).__name__}: {says}); "
            f"is the {whole} sound?"
        ) from None
