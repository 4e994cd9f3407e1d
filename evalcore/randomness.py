"""Where every random number comes from: a key, never a stored generator.

A stream is named by (seed, evaluation, round, purpose, revision), so a rerun draws the same batch, two
windows of a monitor share no draws, and `verify` can redraw a plan years later.
"""

import hashlib

import numpy as np


def stream(
    seed: int, evaluation: str, round: int = 0, purpose: str = "plan", revision: int = 0
) -> np.random.Generator:
    """A generator that depends on the five parts of its name and on nothing else.

    The parts are hashed with their lengths, so ("ab", "c") and ("a", "bc") are different streams.
    PCG64 is named outright: `default_rng` may change its mind between numpy releases.
    """
    digest = hashlib.sha256()
    for part in (str(seed), evaluation, str(round), purpose, str(revision)):
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest.digest(), "big")))
