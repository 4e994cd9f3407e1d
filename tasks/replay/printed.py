"""The JSON of a replay: its keys and what they hold."""

from typing import NotRequired

from typing_extensions import TypedDict

_OfClass = TypedDict("_OfClass", {"class": NotRequired[str]})


class BudgetJson(TypedDict):
    """How a method did at one budget, over the repeats."""

    labels: int                      # the budget
    labels_mean: float               # labels bought
    mse: float                       # mean squared error
    mse_se: float                    # standard error of that mean
    bias: float
    undefined: float                 # share of repeats without an estimate
    coverage: float                  # share of intervals that hold the truth
    width: float                     # mean width of the intervals
    coverage_wide: NotRequired[float]  # of the wide interval; only of methods that report one
    width_wide: NotRequired[float]
    divergence: NotRequired[float]   # how far proposals are from the best one; only where asked for


class LabelsToJson(TypedDict):
    """When the interval of a method has come down to a half-width."""

    half_width: float
    labels: int | None               # at which it is reached; null if it is not
    at_most: bool                    # reached at the smallest budget already, which labels is then
    more_than: int | None            # the largest budget, if it is not reached by then
    coverage: float | None           # at the first budget at or beyond
    covers: bool | None              # that coverage is not below what the method is held to, by a test
    oracle: int | None               # labels the oracle needs to the same half-width
    times_oracle: float | None       # labels as a multiple of the oracle's


class MethodJson(_OfClass):
    """How one method did on one measure."""

    method: str
    measure: str
    system: NotRequired[str | None]  # only with several systems
    versus: NotRequired[str]         # only of a difference
    at: NotRequired[float]           # the threshold, of a point of a curve
    budgets: list[BudgetJson]
    seconds_per_round: float
    least_coverage: float            # what its intervals are held to
    labels_to: list[LabelsToJson]    # one for each half-width asked for


class OracleBudgetJson(TypedDict):
    """The oracle at one budget."""

    labels: int
    width: float


class OracleLabelsJson(TypedDict):
    """The oracle at one half-width."""

    half_width: float
    labels: int                      # 0 where the rates alone tell the measure


class OracleJson(TypedDict):
    """What a stratified sample needs that knows the rate of every cell."""

    measure: str
    system: NotRequired[str | None]  # only with several systems
    cells_of: str                    # the method whose cells it samples
    cells: int
    budgets: list[OracleBudgetJson]
    labels_to: list[OracleLabelsJson]


class ReplayJson(TypedDict):
    """How methods did on a labelled pool."""

    pool: str
    n: int                           # its items
    repeats: int                     # evaluations that were simulated for each method
    seed: int
    truth: dict[str, float]          # measure, or "measure of system" -> its value on the pool
    audit: NotRequired[int]          # labels of the largest budget that were spread evenly; only with some
    methods: list[MethodJson]
    oracle: list[OracleJson]         # empty where annotators differ
