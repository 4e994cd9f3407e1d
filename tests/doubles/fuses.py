"""Power cuts: a fuse counts the effects of a store and a desk, and blows before or after one of them."""

from typing import Any, Literal

_STORE_EFFECTS = {"put", "discard"}
_DESK_EFFECTS = {"prepare", "post", "collect", "request_more", "missing"}


class PowerCut(BaseException):
    """Not an Exception: nothing on the way up may catch it and carry on."""


class Fuse:
    """Blows before or after effect number `at` (1 for the first), or never."""

    def __init__(self, at: int | None = None, when: Literal["before", "after"] = "before") -> None:
        self.at, self.when = at, when
        self.effects: list[str] = []

    def around(self, name: str, call: Any) -> Any:
        self.effects.append(name)
        here = len(self.effects) == self.at
        if here and self.when == "before":
            raise PowerCut(f"before {name}")
        result = call()
        if here:
            raise PowerCut(f"after {name}")
        return result


def cuts(effects: list[int]) -> list[tuple[int, Literal["before", "after"]]]:
    """Where to cut: before each of these effects, and after the last.

    A cut after one of them leaves what a cut before the next leaves.
    """
    return [*((at, "before") for at in effects), (effects[-1], "after")]


class Fused:
    """A store or a desk whose effects go through a fuse."""

    def __init__(self, inner: Any, fuse: Fuse) -> None:
        self._inner, self._fuse = inner, fuse

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name not in _STORE_EFFECTS | _DESK_EFFECTS:
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            what = f"{name} {args[0]}" if name in _STORE_EFFECTS else name
            return self._fuse.around(what, lambda: found(*args, **kwargs))

        return call
