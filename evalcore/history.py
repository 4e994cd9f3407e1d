"""A history: one entry for every round, the early ones read only when they are asked for."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

RUN = 64      # entries of a run: what is read at once
LATEST = 2    # entries at the end that never need reading: what stopping goes by

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class History(Sequence[T], Generic[T]):
    """A sequence that never changes; adding to it gives another one, and reads nothing."""

    runs: tuple[Callable[[], Sequence[T]], ...]   # each gives RUN entries; the first entries first
    rest: tuple[T, ...]                           # those after the runs

    def __len__(self) -> int:
        return RUN * len(self.runs) + len(self.rest)

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[T, ...]: ...
    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return tuple(self[i] for i in range(*at.indices(len(self))))
        i = at + len(self) if at < 0 else at
        if not 0 <= i < len(self):
            raise IndexError(at)
        run, within = divmod(i, RUN)
        return self.runs[run]()[within] if run < len(self.runs) else self.rest[i - RUN * len(self.runs)]

    def __iter__(self) -> Iterator[T]:
        for run in self.runs:
            yield from run()
        yield from self.rest


def with_one_more(entries: Sequence[T], entry: T) -> Sequence[T]:
    """The entries and this one after them; the early ones of a history stay unread."""
    if isinstance(entries, History):
        return History(entries.runs, (*entries.rest, entry))
    return (*entries, entry)


def with_last(entries: Sequence[T], last: T | None) -> Sequence[T]:
    """The entries with this one in place of the last; None: as they are."""
    if last is None:
        return entries
    if isinstance(entries, History):
        return History(entries.runs, (*entries.rest[:-1], last))
    return (*entries[:-1], last)


def in_brief(entries: Sequence[T], shorten: Callable[[T], T]) -> Sequence[T]:
    """The entries shortened, but for those of a history that are unread: they were, when they were kept."""
    if isinstance(entries, History):
        return History(entries.runs, tuple(map(shorten, entries.rest)))
    return tuple(map(shorten, entries))
