"""The methods by name.  A new method is one file and one line here; files are imported when asked for.

A name may carry settings, which are a method's fields: `dirichlet-tree:depth=6:partition=equal-size`.  Of two
classes `auto` is the method whose interval trusts nothing but the labels, where that can be had within the
budget (`evalcore.methods.two_classes.choice`), of other outcomes the first.  It means one method at a time:
what it meant when an evaluation began is in its ledger, and stays.
"""

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import fields, replace
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

from assay.evalcore.errors import BadInput, UnknownName, nearest
from assay.evalcore.methods.method import Capabilities, Method
from assay.evalcore.methods.two_classes.choice import (
    BELIEF,
    DESIGN,
    USUAL_HALF_WIDTH,
    Aim,
    Choice,
    choose,
)
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.types import Trust

if TYPE_CHECKING:
    from assay.evalcore.methods.any_outcome.base import OutcomeMethod
    from assay.evalcore.methods.two_classes.base import CountingMethod, MethodState

_M = TypeVar("_M", "CountingMethod[MethodState]", "OutcomeMethod")


class _OnDemand(MutableMapping[str, _M]):
    """Methods by name; the file of one is imported when it is asked for, and the others are not."""

    def __init__(self, folder: str, places: Mapping[str, str]) -> None:
        """places: name of a method -> its file in the folder, a dot, its class."""
        self._folder, self._places = folder, dict(places)
        self._found: dict[str, _M] = {}

    def __getitem__(self, name: str) -> _M:
        if name not in self._found:
            file, _, kind = self._places[name].partition(".")
            module = import_module(f"assay.evalcore.methods.{self._folder}.{file}")
            self._found[name] = getattr(module, kind)()
        return self._found[name]

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __setitem__(self, name: str, method: _M) -> None:
        self._places.setdefault(name, "")
        self._found[name] = method

    def __delitem__(self, name: str) -> None:
        del self._places[name]
        self._found.pop(name, None)


# of a positive and a negative class
METHODS: Mapping[str, "CountingMethod[MethodState]"] = _OnDemand("two_classes", {
    "passive": "passive.Passive",
    "dirichlet-tree": "dirichlet.DirichletTreeMethod",
    "passive-with-replacement": "fixed_proposal.PassiveWithReplacement",
    "stratified": "stratified.Stratified",
    "stratified-neyman": "stratified.StratifiedNeyman",
    "stratified-online": "stratified.StratifiedOnline",
    "static-is": "fixed_proposal.StaticIS",
    "sawade": "fixed_proposal.Sawade",
    "optimal-is": "fixed_proposal.OptimalIS",
    "bernoulli": "bernoulli.Bernoulli",
    "bernoulli-online": "bernoulli.BernoulliOnline",
    "oasis": "oasis.Oasis",
    "dirichlet-flat": "dirichlet.DirichletFlat",
    "dirichlet-tree-stochastic": "dirichlet.DirichletTreeStochastic",
    "acis": "acis.Acis",
    "acis-pooled": "acis_pooled.AcisPooled",
    "topk": "plug_in.TopK",
    "gmm": "plug_in.GaussianMixture",
    "herding": "plug_in.Herding",
    "isotonic": "plug_in.Isotonic",
    "platt": "plug_in.Platt",
    "recycle": "recycled.Recycled",
    "recalibrated": "recalibrated.Recalibrated",
    "score-test": "score_test.StratifiedScoreTest",
})
OUTCOME_METHODS: Mapping[str, "OutcomeMethod"] = _OnDemand("any_outcome", {   # of any outcome
    "recalibrated": "recalibrated.RecalibratedSample",
    "score-test": "score_strata.RowScoreTest",
    "guesses": "recalibrated.Guesses",
    "passive": "baselines.PassiveSample",
    "model-assisted": "model_assisted.ModelAssisted",
    "stratified": "baselines.StratifiedSample",
    "stratified-neyman": "baselines.NeymanSample",
    "bernoulli": "bernoulli_sample.BernoulliSample",
    "static-is": "static_sample.StaticSample",
    "active-inference": "active.ActiveInference",
    "lure": "active.Lure",
    "dirichlet-tree": "dirichlet_tree.ClassTree",
    "dirichlet-flat": "dirichlet_tree.FlatTreeOfClasses",
    "dirichlet-tree-stochastic": "dirichlet_tree.ClassTreeStochastic",
    "whole-clusters": "whole_clusters.WholeClusters",
    "stratified-ppi": "published_ppi.StratifiedPpi",
    "predict-then-debias": "published_ppi.PredictThenDebias",
})
# of several questions about one item: a spec asks for it by its labels
OF_QUESTIONS: Mapping[str, "OutcomeMethod"] = _OnDemand("any_outcome", {
    "questions": "shared_reading.SharedReading",
})
_DRAWS_OF_QUESTIONS = {"auto": "questions", "passive": "questions:even=true"}
AUTO = "auto"
_SINGLY = "one-at-a-time=true"
TREE = "dirichlet-tree"      # whose settings `auto` may carry too


def method_names() -> list[str]:
    """The names that `method` accepts, "auto" first, then those of the registry in its order."""
    return [AUTO, *METHODS]


def method(name: str) -> "CountingMethod[MethodState]":
    """The method of two classes of this name.

    Raises UnknownName with the nearest known name, and for settings that do not exist; BadInput for values of
    the wrong kind.
    """
    written = auto(name).method if is_auto(name) else name
    return _find(METHODS, written, written.partition(":")[0])


def outcome_method(name: str, kind: OutcomeKind | None = None) -> "OutcomeMethod":
    """The method of any outcome of this name.

    Raises as `method`, and BadInput where it cannot do outcomes of this kind.
    """
    base = name.partition(":")[0]
    if base in OF_QUESTIONS and (kind is None or kind.name == base):
        return _find(OF_QUESTIONS, name, base)
    default = next(iter(OUTCOME_METHODS))
    chosen = _find(OUTCOME_METHODS, name, default if base == AUTO else base, " for this kind of outcome")
    if kind is not None and kind.name not in chosen.kinds:
        able = ", ".join(
            method_name for method_name, method in OUTCOME_METHODS.items() if kind.name in method.kinds
        )
        raise BadInput(
            f"method {name!r} is for {' and '.join(chosen.kinds)}, not for {kind.name}; "
            f"methods that are: {able}"
        )
    return chosen


def method_of_questions(name: str) -> str:
    """What `auto` or `passive` is called where several questions are asked of an item.

    Raises BadInput for a method whose estimates rest on draws of its own.
    """
    if name not in _DRAWS_OF_QUESTIONS and name.partition(":")[0] not in OF_QUESTIONS:
        raise BadInput(f"{name!r} draws items for one question; with several take auto, whose draws serve "
                       "all of them, or passive, a simple random sample")
    return _DRAWS_OF_QUESTIONS.get(name, name)


def method_for(name: str, kind: OutcomeKind | None) -> Method:
    """The method of this name for outcomes of a kind; None: for a positive and a negative class.

    One that is of two classes alone takes one class of several against the rest.  Raises as `outcome_method`.
    """
    return method(name) if kind is None or of_two_classes_alone(name) else outcome_method(name, kind)


def of_two_classes_alone(name: str) -> bool:
    """Whether a method, settings or not, is one of two classes: it has no form for any outcome, or that form
    lacks the settings."""
    base, settings, _ = name.partition(":")
    if base not in METHODS or base not in OUTCOME_METHODS:
        return base in METHODS
    if not settings:
        return False
    return not _takes(OUTCOME_METHODS[base], name) and _takes(METHODS[base], name)


def why_of_two_classes(name: str) -> str:
    """Why a setting of `name` is there for two classes alone; empty where nothing is said of it."""
    base, *settings = name.split(":")
    reasons = OUTCOME_METHODS[base].without if base in OUTCOME_METHODS else {}
    keys = [setting.partition("=")[0].replace("-", "_") for setting in settings]
    return next((f"{key.replace('_', '-')} {reasons[key]}" for key in keys if key in reasons), "")


def _takes(chosen: Method, written: str) -> bool:
    """Whether these settings are a method's own, right or wrong."""
    try:
        chosen.with_settings(written)
    except UnknownName:
        return False
    except BadInput:
        return True
    return True


def _find(among: Mapping[str, _M], written: str, base: str, of: str = "") -> _M:
    if base not in among:
        raise UnknownName(f"unknown method {written!r}{of}; {nearest(base, [AUTO, *among], 'methods')}")
    if ":" not in written:
        return among[base]
    return among[base].with_settings(written)


def auto_in_monitors(name: str = AUTO) -> str:
    """What `auto`, which may carry settings, means in a monitor: without settings each window decides.

    Settings are those of the first method that has them: the one that trusts the score, or as in `auto`.
    """
    settings = name.removeprefix(AUTO)
    if not settings:
        return name
    return next((candidate for candidate in (BELIEF, DESIGN) if _has(candidate, settings)), TREE) + settings


def with_single_draws(name: str, kind: OutcomeKind | None = None) -> str:
    """The name of this method with its items drawn one at a time, where a setting says so.

    Raises as `method_for`, and BadInput for a method whose single draws have no known probability.
    """
    chosen = method_for(name, kind)
    if chosen.asks_anew:
        raise BadInput(f"{name!r} asks about an item once a round, so its draws are not made one after the "
                       "other; leave out requery")
    if not chosen.capabilities.single_draws:
        able = ", ".join(methods_that("single_draws", METHODS if kind is None else OUTCOME_METHODS))
        raise BadInput(f"{name!r} does not draw its items one after the other; methods that do: {able}")
    return chosen.drawn_singly(name)


def refuse_weights(name: str, kind: OutcomeKind) -> None:
    """Raises BadInput where the method of this name, of these outcomes, cannot take weights of items."""
    reason = method_for(name, kind).capabilities.no_weights
    if reason:
        able = ", ".join(
            method_name
            for method_name, method in OUTCOME_METHODS.items()
            if not method.capabilities.no_weights
        )
        raise BadInput(f"method {name!r} {reason}; methods that take weights: {able}")


def is_auto(name: str) -> bool:
    """Whether a spec's method leaves the choice to the table, settings or not."""
    return name.partition(":")[0] == AUTO


def auto(name: str = AUTO, aim: Aim | None = None, trust: Trust | None = None) -> Choice:
    """What `auto`, which may carry settings, means for an evaluation with this aim, and why.

    trust: what its spec says of it.  Settings are those of the first method that has them: the one that
    trusts nothing, the one that trusts the score, or the Dirichlet tree.
    """
    settings, aim = name.removeprefix(AUTO), Aim(measures=()) if aim is None else aim
    if _SINGLY in settings.split(":"):
        # the target of a monitor's window says when people may stop; what decides are its limits
        aim = replace(aim, half_width=max(aim.half_width or 0.0, USUAL_HALF_WIDTH))
    chosen = choose(aim, trust)
    if not settings or _has(chosen.method, settings):
        return replace(chosen, method=chosen.method + settings)
    owner = next((candidate for candidate in (DESIGN, BELIEF) if _has(candidate, settings)), TREE)
    trusts: Trust = "score" if owner == BELIEF else "nothing"
    return Choice(
        method=owner + settings, reason=f"the settings {settings[1:]!r} are {owner}'s", rests_on=trusts
    )


def _has(name: str, settings: str) -> bool:
    """Whether a method of two classes has the settings; wrong values of those it has are told later."""
    try:
        METHODS[name].with_settings(name + settings)
    except UnknownName:
        return False
    except BadInput:
        return True
    return True


def methods_that(capability: str, among: Mapping[str, Method] = METHODS) -> list[str]:
    """The names of the methods with this capability, a field of `Capabilities`, in the registry's order.

    Raises UnknownName for a capability there is none of.
    """
    if capability not in {f.name for f in fields(Capabilities)}:
        raise UnknownName(f"unknown capability {capability!r}")
    return [name for name, method in among.items() if getattr(method.capabilities, capability)]
