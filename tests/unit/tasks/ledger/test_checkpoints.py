"""Values of the statistics as bytes and back."""

import json
from dataclasses import dataclass
from io import BytesIO

import numpy as np
import pytest

from assay.evalcore.design.round import RoundLabels
from assay.evalcore.evaluation.state import ENTRIES_OF_RUN, LATEST, Asked, History
from assay.tasks.ledger.checkpoint_values import UNREADABLE, NotKept, named_runs, read_value, written_value


def nothing(_digest):
    raise AssertionError("no run is to be read")


def npz(**arrays):
    sink = BytesIO()
    np.savez_compressed(sink, **arrays)
    return sink.getvalue()


def again(value, base=None, rounds=0):
    blob, runs = written_value(value, rounds, base)
    return read_value(blob, runs.__getitem__, base)


def labels(n=1):
    return RoundLabels(new=np.full((1, 3, 2), n), drawn_new=np.zeros((1, 3, 2), np.int64),
                       drawn_known=np.ones((1, 0, 2)), undecided=n)


@pytest.mark.parametrize("value", [
    None, True, 3, 0.1 + 0.2, float("inf"), "é", (), [], (1, None, "a"), [0.5], {"a": 1}, {}, {3: (1, 2)},
    {(1, "x"): [None]}, (Asked(rank=(1, 2), code=(0.0, -1e300)),),
], ids=repr)
def test_plain_values_come_back(value):
    back = again(value)
    assert repr(back) == repr(value)
    assert type(back) is type(value)


def test_arrays_come_back_with_their_types_bits_and_order_in_memory():
    rng = np.random.default_rng(1)
    several = [
        rng.random((3, 4)), np.asfortranarray(rng.random((3, 4))), rng.random((4, 3, 2)).transpose(1, 2, 0),
        np.zeros((0, 3)), np.array([True, False]), np.arange(3, dtype=np.int16), np.array(2.5),
        np.float64(0.1),
        np.broadcast_to(np.arange(3.0), (2, 3)),
    ]
    for before, after in zip(several, again(several), strict=True):
        assert (after.dtype, after.shape) == (before.dtype, before.shape)
        assert after.tobytes() == before.tobytes()
    first, second = again(several)[1:3]
    assert first.flags.f_contiguous
    assert [s > 0 for s in np.diff(second.strides)] == [s > 0 for s in np.diff(several[2].strides)]


def test_dataclasses_come_back_and_equal_arrays_are_written_once():
    big = np.arange(1000.0)
    blob, _ = written_value([labels(), big, big.copy()], 0)
    back = read_value(blob, nothing)
    assert back[0].undecided == 1
    assert back[0].new.tobytes() == labels().new.tobytes()
    assert back[0].drawn_known.shape == (1, 0, 2)
    with np.load(BytesIO(blob)) as kept:
        assert kept[big.dtype.str].nbytes < 2 * big.nbytes


def test_what_is_shared_with_the_base_is_not_written():
    @dataclass(frozen=True)
    class OfNobody:
        name: str

    base = (OfNobody("model"), Asked())
    blob, _ = written_value((base[0], Asked(rank=(1,))), 0, base)
    assert read_value(blob, nothing, base)[0] is base[0]
    with pytest.raises(ValueError, match="not there"):
        read_value(blob, nothing)
    with pytest.raises(NotKept, match="OfNobody"):
        written_value(base, 0)


def test_one_entry_for_every_round_is_a_history_of_which_the_early_ones_lie_apart():
    rounds = ENTRIES_OF_RUN + LATEST
    blob, runs = written_value(tuple(labels(n) for n in range(rounds)), rounds)
    assert set(runs) == named_runs(blob)
    assert len(runs) == 1
    lazy = read_value(blob, nothing)
    assert isinstance(lazy, History)
    assert (len(lazy), lazy[-1].undecided) == (rounds, rounds - 1)
    whole = read_value(blob, runs.__getitem__)
    assert [one.undecided for one in whole] == list(range(rounds))
    later, new = written_value(History(lazy.runs, (*lazy.rest, labels(rounds))), rounds + 1)
    assert (named_runs(later), new) == (set(runs), {}), "what was early stays as it is, and is not read"


@pytest.mark.parametrize("named", [
    "os:system", "assay.tasks.settings:Settings", "assay.evalcore.errors:plural",
    "assay.evalcore.nothing:Nothing", "assay.evalcore.evaluation.state:Nobody",
])
def test_nothing_but_dataclasses_of_the_core_is_made(named):
    said = {"value": {"of": named, "fields": {}}, "runs": []}
    blob = npz(json=np.frombuffer(json.dumps(said).encode(), np.uint8))
    with pytest.raises(UNREADABLE):
        read_value(blob, nothing)


def test_objects_of_python_are_not_kept():
    with pytest.raises(NotKept, match="array of object"):
        written_value(np.array([object()]), 0)
    with pytest.raises(NotKept, match="function"):
        written_value({"a": nothing}, 0)


def test_half_written_and_foreign_files_are_unreadable():
    whole, _ = written_value((labels(), np.arange(50.0)), 0)
    pickled = npz(json=np.array([{"value": 1, "runs": []}], object))
    halves = (whole[:n] for n in range(0, len(whole), 37))
    foreign = (b"", b"{}\n", pickled, npz(other=np.arange(3)), npz(json=np.arange(3)))
    for blob in (*halves, *foreign):
        with pytest.raises(UNREADABLE):
            read_value(blob, nothing)


def test_a_part_of_an_array_that_is_not_there_is_unreadable():
    said = {"value": {"array": "<f8", "at": 2, "shape": [3], "axes": [0]}, "runs": []}
    blob = npz(json=np.frombuffer(json.dumps(said).encode(), np.uint8), **{"<f8": np.arange(4.0)})
    with pytest.raises(UNREADABLE):
        read_value(blob, nothing)
