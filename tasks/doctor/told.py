"""What somebody said about the columns of a file."""

from dataclasses import dataclass

from assay.evalcore.errors import BadInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """None where nothing was said."""

    id: str | None = None
    score: str | None = None
    probability: str | None = None
    prediction: str | None = None
    label: str | None = None
    positive: str | None = None          # a class, as predictions or labels write it
    threshold: float | None = None       # what lies above it is predicted positive
    display: tuple[str, ...] = ()

    def refuse_beside_a_spec(self, path: str) -> None:
        """Raises BadInput if anything was said, because a spec says it."""
        if self != Told():
            raise BadInput(f"{path} is a spec, which names its columns itself; change them there")
