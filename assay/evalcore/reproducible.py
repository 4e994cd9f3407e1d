"""The same numbers in every run, on every machine: named random streams, choices no rounding decides, and
results that are kept because the same is asked again."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np

from assay.evalcore.types import Bools, Floats, Ints


def stream(
    seed: int, evaluation: str, round: int = 0, purpose: str = "plan", revision: int = 0
) -> np.random.Generator:
    """A generator that depends on the five parts of its name and on nothing else.

    The parts are hashed with their lengths, so ("ab", "c") and ("a", "bc") are different streams.
    PCG64 is named outright: `default_rng` may change its mind between numpy releases.

    Where every random number comes from: a key, never a stored generator.

    A stream is named by (seed, evaluation, round, purpose, revision), so a rerun draws the same batch, two
    windows of a monitor share no draws, and `verify` can redraw a plan years later.
    """
    digest = hashlib.sha256()
    for part in (str(seed), evaluation, str(round), purpose, str(revision)):
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest.digest(), "big")))


OFF_TIES = 1e-9     # added before a number is rounded down
_BITS = 26          # of a significand that are told apart: 1 part in 7 · 10^7
_TIED_DIGITS = 10   # of the largest number, to which others are as large
_NO_SUM = 1e-12   # of a sum's terms: a sum of both signs that is smaller is one of roundings
EXACT_WIDTH = 1e-9      # an interval narrower than this is exact
ROUNDING_WIDTH = 1e-9   # an interval narrower than this is one of rounding alone


def steady(x: Floats) -> Floats:
    """The numbers, of any shape, rounded to _BITS binary digits: what is equal but for rounding is equal.

    Choices that must not follow a rounding.

    Processors, vector units and BLAS kernels round sums and exponentials differently, by a part in 10^16 to
    10^13.  Where a result is continuous that does not matter.  Where something discrete follows from a number
    (an order, a cell, a whole count, whether something is zero), numbers that are equal by construction must
    come out equal: two items that matter alike, a share of exactly a half, a variance of exactly nothing.
    The functions here make them so, each by a margin far above any rounding and far below anything that is
    reported.  What jumps, jumps elsewhere: at places where numbers fall by chance only.
    """
    significand, exponent = np.frexp(x)
    return np.asarray(np.ldexp(np.round(significand * 2.0**_BITS), exponent - _BITS))


def first_largest(x: Floats, axis: int = -1) -> Ints:
    """The place of the first of the largest numbers along an axis; -inf is never one of them. Numbers that
    differ by rounding alone count as equal, so that every machine finds the same one."""
    size = np.where(np.isfinite(x), np.abs(x), 0.0).max(axis=axis, keepdims=True)
    return np.asarray(np.argmax(np.round(x / np.where(size > 0, size, 1.0), _TIED_DIGITS), axis=axis))


def is_nothing(x: Floats | float, terms: Floats | float) -> Bools:
    """Whether x is 0 but for rounding; terms: how large what was added up and taken off is. The terms have
    any shape that x can be compared with, and the answer has the shape of both."""
    return np.asarray(np.abs(x) <= _NO_SUM * np.abs(terms))


_Asked = ParamSpec("_Asked")
_Found = TypeVar("_Found")


def remembered(size: int) -> Callable[[Callable[_Asked, _Found]], Callable[_Asked, _Found]]:
    """A function that keeps its last `size` results, by what its arguments hold: arrays and records of them.

    It must depend on nothing else, and nobody may write to what it gives.
    """

    def keeping(function: Callable[_Asked, _Found]) -> Callable[_Asked, _Found]:
        results: OrderedDict[Hashable, _Found] = OrderedDict()

        @wraps(function)
        def found(*args: _Asked.args, **kwargs: _Asked.kwargs) -> _Found:
            key = _content((args, sorted(kwargs.items())))
            result = results.pop(key, None)       # whole steps alone: threads may ask at once
            if result is None:
                result = function(*args, **kwargs)
            results[key] = result
            while len(results) > size:
                results.popitem(last=False)
            return result

        return found

    return keeping


def _content(value: object) -> Hashable:
    """What a value holds, to be compared."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, list | tuple):
        return tuple(_content(part) for part in value)
    if is_dataclass(value):
        return type(value), *(_content(getattr(value, field.name)) for field in fields(value))
    return value
