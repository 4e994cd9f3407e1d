"""What an importer did not bring along, counted, for the person who has to know."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Notes:
    """Filled while places are read."""

    left_out: Counter[str] = field(default_factory=Counter)   # "images" -> in how many responses
    told: list[str] = field(default_factory=list)             # sentences, each once

    def leave_out(self, what: str) -> None:
        """Count something that is not imported: a plural, such as `images` or `tool calls`."""
        self.left_out[what] += 1

    def tell(self, sentence: str) -> None:
        """Say something once."""
        if sentence not in self.told:
            self.told.append(sentence)

    @property
    def lines(self) -> list[str]:
        """All of it, a sentence each."""
        counts = [f"not imported: {what} ({n:,} times)" for what, n in sorted(self.left_out.items())]
        return [*self.told, *counts]
