"""The methods by name.  A new method is one file and one line here.

`auto` is the best method that is certified: see `evalcore.methods.two_classes.choice`.  It means one method
at a time: what it meant when an evaluation began is in its ledger, and stays.
"""

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from difflib import get_close_matches

from assay.evalcore.errors import BadInput, UnknownName
from assay.evalcore.methods.method import Capabilities
from assay.evalcore.methods.settings import settings_of
from assay.evalcore.methods.two_classes.acis import Acis
from assay.evalcore.methods.two_classes.acis_pooled import AcisPooled
from assay.evalcore.methods.two_classes.base import CountingMethod
from assay.evalcore.methods.two_classes.bernoulli import Bernoulli, BernoulliOnline
from assay.evalcore.methods.two_classes.certified import TABLE
from assay.evalcore.methods.two_classes.choice import DEFAULT, MONITORS, Choice, choose
from assay.evalcore.methods.two_classes.dirichlet import (
    DirichletFlat,
    DirichletTreeMethod,
    DirichletTreeStochastic,
)
from assay.evalcore.methods.two_classes.fixed_proposal import OptimalIS, PassiveWithReplacement, StaticIS
from assay.evalcore.methods.two_classes.oasis import Oasis
from assay.evalcore.methods.two_classes.passive import Passive
from assay.evalcore.methods.two_classes.plug_in import GaussianMixture, Herding, Isotonic, Platt, TopK
from assay.evalcore.methods.two_classes.recalibrated import Recalibrated
from assay.evalcore.methods.two_classes.recycled import Recycled
from assay.evalcore.methods.two_classes.sawade import Sawade
from assay.evalcore.methods.two_classes.stratified import Stratified, StratifiedNeyman, StratifiedOnline

_ALL: tuple[CountingMethod, ...] = (
    Passive(),
    DirichletTreeMethod(),
    PassiveWithReplacement(),
    Stratified(),
    StratifiedNeyman(),
    StratifiedOnline(),
    StaticIS(),
    Sawade(),
    OptimalIS(),
    Bernoulli(),
    BernoulliOnline(),
    Oasis(),
    DirichletFlat(),
    DirichletTreeStochastic(),
    Acis(),
    AcisPooled(),
    TopK(),
    GaussianMixture(),
    Herding(),
    Isotonic(),
    Platt(),
    Recycled(),
    Recalibrated(),
)
METHODS: Mapping[str, CountingMethod] = {m.name: m for m in _ALL}
AUTO = "auto"


def method_names() -> list[str]:
    """The names `method` knows, `auto` first."""
    return [AUTO, *METHODS]


def method(name: str) -> CountingMethod:
    """The method of this name, which may carry settings: see `evalcore.methods.settings`.

    Raises UnknownName with the nearest known name, and for settings that do not exist.
    """
    written = auto(name).method if is_auto(name) else name
    base = written.partition(":")[0]
    if base not in METHODS:
        near = get_close_matches(base, method_names(), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known methods: {', '.join(method_names())}"
        raise UnknownName(f"unknown method {written!r}; {hint}")
    return METHODS[base] if written == base else _with_settings(METHODS[base], written)


def _with_settings(chosen: CountingMethod, written: str) -> CountingMethod:
    """The method with the settings of `written`: "name:field=value:field=value".  Raises as `settings_of`."""
    return replace(chosen, name=written, **settings_of(chosen, written))


def auto_in_monitors(name: str = AUTO) -> str:
    """What `auto`, which may carry settings, means in a monitor.

    Settings that the monitors' method does not have are the default's, as in `auto`.
    """
    settings = name.removeprefix(AUTO)
    try:
        method(MONITORS + settings)
    except UnknownName:
        return DEFAULT + settings
    return MONITORS + settings


def with_single_draws(name: str) -> str:
    """The name of this method with its items drawn one at a time, where a setting says so.

    Raises UnknownName as `method`, and BadInput for a method whose single draws have no known probability.
    """
    chosen = method(name)
    if chosen.asks_anew:
        raise BadInput(f"{name!r} asks about an item once a round, so its draws are not made one after the "
                       "other; leave out requery")
    if not chosen.capabilities.single_draws:
        able = ", ".join(methods_that("single_draws"))
        raise BadInput(f"{name!r} does not draw its items one after the other; methods that do: {able}")
    settable = any(f.name == "one_at_a_time" for f in fields(chosen))
    return name if chosen.one_at_a_time or not settable else f"{name}:one-at-a-time=true"


def is_auto(name: str) -> bool:
    """Whether a spec's method leaves the choice to the table, settings or not."""
    return name.partition(":")[0] == AUTO


def auto(name: str = AUTO) -> Choice:
    """What `auto`, which may carry settings, means today, and why.

    Settings that the certified method does not have were written for the default, which then keeps them.
    """
    chosen, settings = choose(TABLE), name.removeprefix(AUTO)
    if settings and chosen.method != DEFAULT:
        try:
            _with_settings(METHODS[chosen.method], chosen.method + settings)
        except UnknownName:
            return Choice(method=DEFAULT + settings, reason=f"the settings {settings[1:]!r} are {DEFAULT}'s")
    return Choice(method=chosen.method + settings, reason=chosen.reason)


def capabilities_table() -> dict[str, dict[str, bool | int | str]]:
    """Every method by name, with what it can do: the fields of `Capabilities`."""
    return {name: asdict(m.capabilities) for name, m in METHODS.items()}


def methods_that(capability: str) -> list[str]:
    """The names of the methods with this capability, a field of `Capabilities`, in the registry's order.

    Raises UnknownName for a capability there is none of.
    """
    if capability not in {f.name for f in fields(Capabilities)}:
        raise UnknownName(f"unknown capability {capability!r}")
    return [name for name, able in capabilities_table().items() if able[capability]]
