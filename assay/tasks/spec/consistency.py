"""What the parts of a spec demand of each other, and which evaluations may start with labels of others."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import inf
from typing import ClassVar, Protocol

from assay.evalcore.annotators.answers import RuleName
from assay.evalcore.errors import BadInput, did_you_mean, nearest
from assay.evalcore.estimators.guaranteed import GUARANTEED, WITH_GUARANTEE, refuse_without_mean
from assay.evalcore.evaluation.stopping import TRACE, good_budget, least_budget, rule_in_words
from assay.evalcore.measures.measure import OutcomeMeasure, difference
from assay.evalcore.methods.method import Method
from assay.evalcore.methods.registry import (
    AUTO,
    METHODS,
    OUTCOME_METHODS,
    auto,
    is_auto,
    method,
    method_for,
    method_of_questions,
    methods_that,
    outcome_method,
)
from assay.evalcore.outcomes.base import LARGEST_OUTCOME, OutcomeKind
from assay.evalcore.pool.partition import MOST_PATTERN_SYSTEMS
from assay.tasks.desks.registry import DeskChoice
from assay.tasks.sources.files.file import ROW_NUMBER
from assay.tasks.spec.goals import (
    SEGMENTS,
    WITH_CHANCES,
    Budget,
    LabelsSoFar,
    Limit,
    MeasureChoice,
    Outcomes,
    Target,
    WarmStart,
    segments_drive,
)
from assay.tasks.spec.judges import JudgesLookedAt, contradictions_of_judges
from assay.tasks.spec.labels.base import LabelsForm
from assay.tasks.spec.labels.demands import SpecParts, contradictions_of_outcome, lacking_features
from assay.tasks.spec.labels.questions import QuestionEntry, QuestionList
from assay.tasks.spec.pool import Pool, problems_of_probability
from assay.tasks.spec.questions import contradictions_of_questions, out_of


class WholeSpec(SpecParts, Protocol):
    """A spec, as far as its parts can contradict each other."""

    of_monitor: ClassVar[bool]

    @property
    def name(self) -> str: ...
    @property
    def interval(self) -> str | None: ...
    @property
    def about(self) -> str | None: ...
    @property
    def rule(self) -> RuleName: ...
    @property
    def drive(self) -> Sequence[str] | None: ...
    @property
    def outcomes(self) -> Outcomes | None: ...
    @property
    def labels_so_far(self) -> LabelsSoFar | None: ...
    @property
    def price_per_label(self) -> float | None: ...
    @property
    def judges(self) -> JudgesLookedAt | None: ...
    @property
    def target(self) -> Target: ...
    @property
    def questions_asked(self) -> Mapping[str, QuestionEntry]: ...


def contradictions(spec: WholeSpec) -> list[tuple[str, str]]:
    """(key, what is wrong with it) for each; none where the parts fit together."""
    pool, labels, measures, method_name = spec.pool, spec.labels, spec.measure, spec.method
    desk, rule, drive = spec.desk, spec.rule, spec.drive
    if pool.task != labels.task:
        return [("pool.task", f"is {pool.task!r}, and these labels are {labels.task!r}; leave it out")]
    if isinstance(labels, QuestionList):
        problems = contradictions_of_questions(spec, labels)
    elif labels.outcome is not None:
        problems = [*contradictions_of_outcome(spec, labels.outcome), *_of_answers_as_draws(spec)]
        if spec.warm_start is not None:
            reason = why_cold(labels.outcome, pool, measures, method_name)
            alone = () if reason else that_draw_alone(labels.outcome, method_name)
            problems += problems_of_start(spec.name, spec.warm_start, reason, alone)
    elif method_name in OUTCOME_METHODS and method_name not in METHODS:
        return [("method", f"is {method_name!r}, which draws whole clusters; name their column under "
                           "`pool.cluster`, or use another method")]
    else:
        problems = [*problems_of_probability(labels.answers.choices, pool), *_of_measures(labels, measures)]
        problems += _of_method(spec.name, pool, method_name, spec.warm_start, spec.budget)
        problems += [("desk." + key, text) for key, text in desk.unlike(labels.answers)]
        problems += _of_answers_as_draws(spec)
        if drive is not None and not method(method_name).capabilities.serves_several:
            able = " or ".join(methods_that("serves_several"))
            problems.append(("drive", f"cannot be used by method {method_name!r}: its first measure drives "
                                      f"the sampling; use {able}, or leave it out"))
    problems += [*_of_guarantee(spec), *_of_population(spec), *contradictions_of_judges(spec)]
    listed = [choice.name for choice in measures]
    problems += [("drive", f"names {name!r}, which is not listed under `measure`; "
                           f"{did_you_mean(name, listed)}it lists {', '.join(listed)}")
                 for name in drive or () if name not in (*listed, SEGMENTS)
                 and not spec.questions_asked]
    problems += _of_segments_that_drive(spec)
    if spec.budget.price is not None and spec.price_per_label is not None:
        problems.append(("price_per_label", "is said by `budget.price.label` too; leave one of them out"))
    if spec.budget.money is not None and spec.of_monitor:
        problems.append(("budget.money", "is of one evaluation; a monitor counts labels: give `labels`"))
    if desk.needs_display and not pool.display:
        problems.append(("pool.display", f"is empty, so a {desk.kind} desk would show people nothing; "
                                         "list the columns they need to see"))
    if rule not in labels.answers.rules:
        problems.append(("adjudication.rule", f"is {rule!r}; these labels are made by "
                                              f"{' or '.join(labels.answers.rules)}"))
    if rule == "dawid-skene" and desk.annotators_per_item < 2:
        problems.append(("adjudication.rule", "is dawid-skene, which weighs people against each other; set "
                                              "desk.annotators_per_item to 2 or more, or the rule to "
                                              "majority"))
    return problems


DRIVEN_BY_SEGMENTS = ("recalibrated", "guesses")


def _of_segments_that_drive(spec: WholeSpec) -> Iterator[tuple[str, str]]:
    """(key, what is wrong with it) of `drive: segments` that nothing can be drawn by."""
    if not segments_drive(spec.drive) or spec.questions_asked:
        return
    if not spec.pool.segments:
        yield "drive", "says segments, and the pool has none; name their columns under `pool.segments`"
    if spec.of_monitor:
        yield "drive", ("says segments, which drive one evaluation; a monitor judges each by itself: leave "
                        "it out")
    base = spec.method.partition(":")[0]
    if base not in (AUTO, *DRIVEN_BY_SEGMENTS):
        yield "method", (f"is {spec.method!r}, whose strata do not keep segments apart (drive: segments); "
                         f"use auto or {' or '.join(DRIVEN_BY_SEGMENTS)}")


def out_of_range(
    limit: Limit | None, pool: Pool, labels: LabelsForm, measures: Sequence[MeasureChoice]
) -> list[tuple[str, str]]:
    """(key, what is wrong with it) of a limit that the first measure can never pass, or never miss. Nothing
    where systems are compared, whose limits are of differences."""
    if limit is None or pool.compares:
        return []
    lead = measures[0]
    try:
        bounds = (
            lead.of_two_classes(labels.one_class) if labels.outcome is None
            else lead.outcome_measure(labels.outcome, 1)
        ).bounds
    except BadInput:
        return []      # said already
    return list(out_of(limit, bounds, lead.name))


def unreachable(target: Target, labels: LabelsForm) -> list[tuple[str, str]]:
    """(key, what is wrong with it) of a target that every interval meets."""
    values: dict[str, float | None] = {}
    for key in ("half_width", "variance"):
        value = getattr(target, key)
        values |= {f"{key}.{name}": number for name, number in value.items() if name != TRACE} \
            if isinstance(value, dict) else {key: value}
    return [
        (f"target.{key}", f"is {value:g}, which every interval of such measures meets; give less than 1")
        for key, value in values.items() if value is not None and value >= 1 and labels.shares
    ]


def of_no_measure(target: Target, names: Collection[str]) -> list[tuple[str, str]]:
    """(key, what is wrong with it) of targets of measures that are not asked for; names: those that are. Each
    names the measure that may be meant."""
    key = "half_width" if isinstance(target.half_width, dict) else "variance"
    every = [*dict.fromkeys([*names, *(name.partition("(")[0] for name in names)])]
    return [
        (f"target.{key}",
         f"is of {name!r}, and no such measure is asked for; {nearest(name, every, 'measures')}")
        for name in target.named if name not in every and name != TRACE
    ]


def never_met(
    target: Target, budget: Budget, batch_size: int, method: Method, *, has_labels: bool = False
) -> str | None:
    """What is wrong with a budget that is too small for any target, and what would do; None where nothing is.

    has_labels: it may begin with labels that are known already, which count.

    Asked of what a person writes, not of what is in a ledger: an evaluation that has begun so goes on.
    """
    rule = target.when_met(method)
    if not target.given or has_labels or budget.labels >= least_budget(batch_size, *rule):
        return None
    return (
        f"is {budget.labels:,}, with which no target can be met: {rule_in_words(*rule)}. Give "
        f"{good_budget(batch_size, *rule):,} or more; or leave the target out, and the budget alone stops it"
    )


def idle(
    pool: Pool, labels: LabelsForm, method_name: str, drive: Sequence[str] | None
) -> Iterator[tuple[str, str]]:
    """(key, what is wrong with it) of keys that would change nothing.

    Asked of what a person writes: in a ledger they do no harm.
    """
    if pool.cluster is not None and pool.cluster == pool.id:
        yield "pool.cluster", (
            "names the column of ids, so every item would be a cluster of its own; leave it out, and say "
            "`about: population`: the pool is then a sample, item by item"
        )
    if pool.features and method_for(method_name, labels.outcome).feature_tree is None:
        yield "pool.features", (
            f"are looked at by methods that cut the pool by them, and {method_name!r} does not; name a cut, "
            "as in stratified:partition=kd-tree, or leave them out"
        )
    questions = labels.questions if isinstance(labels, QuestionList) else ()
    for kind in (labels.outcome, *(question.outcome.kind for question in questions)):
        for end in () if kind is None or kind.name == "questions" else kind.value_range:
            if LARGEST_OUTCOME < abs(end) < inf:
                yield "labels", (
                    f"has the end {end:g}, and no answer is beyond ±{LARGEST_OUTCOME:g}: squares of errors "
                    "would not be finite; leave the bound out, or give a smaller one"
                )
    if labels.by_cell or drive is None:
        return
    if not outcome_method(method_name).capabilities.serves_several:
        yield "drive", (
            f"cannot be used by method {method_name!r}, which draws alike whatever is measured; use another "
            "method, or leave it out"
        )


def contradictions_of_outcomes(
    outcomes: Outcomes | None, labels: LabelsForm, *, of_monitor: bool
) -> list[tuple[str, str]]:
    """(key, what is wrong with it) of outcomes that do not fit the labels."""
    if outcomes is None:
        return []
    problems, answers = [], labels.answers
    if outcomes.otherwise is not None and answers.spelled(str(outcomes.otherwise)) is None:
        names = ", ".join(answers.choices)
        remedy = f"name tags joined by bars, or none ({names})" if answers.several else \
            f"name one of the classes ({names})" if names else f"give {answers.wanted}"
        problems.append(("outcomes.otherwise", f"is {outcomes.otherwise!r}; {remedy}"))
    days = outcomes.complete_after_days
    if days is not None and not of_monitor:
        problems.append(("outcomes.complete_after_days", "belongs to a monitor; leave it out: an "
                                                         "evaluation takes what is there when it begins"))
    if of_monitor and outcomes.otherwise is not None and days is None:
        problems.append(("outcomes.otherwise", "needs `complete_after_days`: before that an item without an "
                                               "outcome may still get one"))
    return problems


def contradictions_of_held(spec: WholeSpec) -> Iterator[tuple[str, str]]:
    """(key, what is wrong with it) of labels that are there already, which cannot be the first round. Nothing
    where the spec has no `labels_so_far`."""
    held = spec.labels_so_far
    if held is None:
        return
    if spec.of_monitor:
        yield "labels_so_far", ("begins one evaluation; a monitor's windows begin with what `outcomes` "
                                "brings, or with `monitor.carry_over`: leave it out")
        return
    if spec.outcomes is not None:
        yield "outcomes", ("come to items by themselves, and labels_so_far says which items were drawn; keep "
                           "one of them")
    guesses = {"pool.judge": spec.pool.judges, "pool.prediction": (spec.pool.prediction,)}
    for key, columns in guesses.items():
        if held.source in (None, spec.pool.source) and held.label in columns:
            yield key, (f"names column {held.label!r}, which labels_so_far.label says is that of the labels, "
                        "and guesses nothing of the items without one; leave it out")
    questions = bool(spec.questions_asked)
    if held.key_of_chances is not None and questions:
        yield f"labels_so_far.{held.key_of_chances}", (
            "is of one question, as each may have answers of other items; give a random sample (drawn: "
            "random), or ask that question alone")
        return
    try:
        chosen = method_for(method_of_questions(spec.method) if questions else spec.method,
                            spec.labels.outcome)
    except BadInput:
        return     # said already
    among: Mapping[str, Method] = METHODS if spec.labels.outcome is None else OUTCOME_METHODS
    if held.key_of_chances is not None and chosen.name != WITH_CHANCES:
        yield "method", (f"is {spec.method!r}, and from labels with chances of their own "
                         f"(labels_so_far.{held.key_of_chances}) {WITH_CHANCES!r} alone goes on; leave the "
                         "method out, or name that one")
    elif not chosen.capabilities.extends_a_sample or chosen.one_at_a_time or chosen.asks_anew:
        yield "method", (f"is {spec.method!r}, whose estimates rest on draws of its own, and labels_so_far "
                         "was drawn by others; methods that go on from a random sample: "
                         + ", ".join(methods_that("extends_a_sample", among)))


def joined_by_row(
    pool: Pool, desk: DeskChoice, warm_start: WarmStart | None, outcomes: Outcomes | None,
    held: LabelsSoFar | None = None,
) -> list[tuple[str, str]]:
    """(key, what is wrong with it) of another file, where the number of a row names an item: rows of the same
    number are other items there."""
    if pool.id != ROW_NUMBER:
        return []
    files = [(f"desk.{key}", file) for key, file in desk.joined()]
    if outcomes is not None and outcomes.id is None:
        files.append(("outcomes.source", outcomes.source))
    if warm_start is not None and warm_start.file and warm_start.id is None:
        files.append((f"warm_start.{warm_start.key}", warm_start.file))
    if held is not None and held.source is not None and held.id is None:
        files.append(("labels_so_far.source", held.source))
    return [
        (key, f"is another file than pool.source, and pool.id is {ROW_NUMBER!r}: rows of the same number are "
              "not the same items there. Give both files a column with an id")
        for key, file in files if file != pool.source
    ]


def _of_measures(labels: LabelsForm, measures: Sequence[MeasureChoice]) -> Iterator[tuple[str, str]]:
    for i, choice in enumerate(measures):
        try:
            choice.of_two_classes(labels.one_class)
        except BadInput as error:
            yield f"measure[{i}]", str(error)
        if choice.question is not None:
            yield f"measure[{i}]", "names a question, and `labels` asks one only; leave it out"


def _of_method(
    name: str, pool: Pool, method_name: str, warm_start: WarmStart | None, budget: Budget
) -> list[tuple[str, str]]:
    chosen = method(method_name)
    problems = _of_audit(method_name, pool, budget)
    if warm_start is not None:
        reason = None if chosen.capabilities.starts_warm else (
            f"cannot be used by method {method_name!r}: its label model takes no earlier labels; use "
            f"{' or '.join(methods_that('starts_warm'))}, or leave it out"
        )
        alone = chosen.capabilities.draws_alone
        problems += problems_of_start(name, warm_start, reason, () if alone else methods_that("draws_alone"))
    problems += lacking_features(chosen, method_name, pool)
    if pool.segments and chosen.capabilities.whole_pool_only:
        able = ", ".join(name for name in METHODS if name not in methods_that("whole_pool_only"))
        problems.append(("pool.segments", f"cannot be estimated by the method {method_name!r}: its labels of "
                                          "a segment do not say what the segment's other items are; use one "
                                          f"of {able}, or leave the segments out"))
    if pool.systems and len(pool.systems) > MOST_PATTERN_SYSTEMS:
        problems.append(("pool.systems", f"has {len(pool.systems)}; at most {MOST_PATTERN_SYSTEMS} can share "
                                         "labels so"))
    if pool.systems and not chosen.capabilities.judges_systems:
        able = " or ".join(map(repr, methods_that("judges_systems")))
        problems.append(("pool.systems", "beside a prediction of the pool's own are judged by the method "
                                         f"{able}, and this spec says {method_name!r}; use {able}, or, to "
                                         "compare systems, name the pool's own under `systems` too"))
    return problems


def _of_answers_as_draws(spec: WholeSpec) -> Iterator[tuple[str, str]]:
    """(key, what is wrong with it) of what would answer an item once and for all, where it is asked anew."""
    name, desk, kind = spec.method, spec.desk, spec.labels.outcome
    try:
        chosen = method_for(name, kind)
    except BadInput:
        return   # said already
    if not chosen.asks_anew:
        return
    if chosen.repeats_in_a_round:
        yield "method", (
            f"is {name!r}, which may ask about an item several times in a round; only a replay does: use "
            "requery=rounds, which asks about an item again in later rounds"
        )
    reason = f"and method {name!r}, which takes every answer for another draw: "
    conflicts = (
        ("desk.annotators_per_item", desk.annotators_per_item > 1, "one person answers a draw; leave it out"),
        ("desk.ask_again", desk.ask_again is not None and desk.ask_again.when != "never",
         "an answer that surprises is a draw too; leave it out"),
        ("warm_start", spec.warm_start is not None,
         "labels bought before would answer every draw; leave it out"),
        ("outcomes", spec.outcomes is not None, "known outcomes would answer every draw; leave it out"),
    )
    yield from ((key, f"{reason}{remedy}") for key, is_set, remedy in conflicts if is_set)


def _of_guarantee(spec: WholeSpec) -> Iterator[tuple[str, str]]:
    """(key, what is wrong with it) of a guaranteed interval that cannot be given."""
    kind, name = spec.labels.outcome, spec.method
    if "guaranteed=true" not in name:
        if spec.interval is not None:
            able = WITH_GUARANTEE if kind is None else WITH_GUARANTEE[:-1]
            yield "interval", (
                f"cannot be {GUARANTEED} with method {name!r}, whose draws are neither even nor stratified; "
                f"use {', '.join(able[:-1])} or {able[-1]}, or leave it out"
            )
        return
    if spec.pool.segments:
        yield "pool.segments", "have no guaranteed intervals so far; leave them or the guarantee out"
    try:
        if kind is None:
            refuse_without_mean([choice.of_two_classes(spec.labels.one_class) for choice in spec.measure])
        else:
            from assay.evalcore.methods.any_outcome.guaranteed import refuse_without_margin

            measures = [choice.outcome_measure(kind, 1) for choice in spec.measure]
            compared = [difference(measure, measure) for measure in measures if measure.system is not None] \
                if spec.pool.compares else []
            refuse_without_margin([*measures, *compared])
    except BadInput as error:
        yield "interval", f"cannot be {GUARANTEED}: {error}"


def _of_population(spec: WholeSpec) -> Iterator[tuple[str, str]]:
    """(key, what is wrong with it) of intervals about a population that cannot be given."""
    if spec.pool.strata is not None and spec.about == "pool":
        yield "pool.strata", ("says how the pool was drawn from a population, and `about` is 'pool': leave "
                              "one of the two out")
    if spec.about != "population":
        return
    try:
        anew = method_for(spec.method, spec.labels.outcome).asks_anew
    except BadInput:
        return   # said already
    if "guaranteed=true" in spec.method:
        yield "about", (
            f"is 'population', and a {GUARANTEED} interval is of the pool's items alone: nothing is "
            "guaranteed of how the pool itself was drawn; leave one of the two out"
        )
    if spec.pool.weight is not None and spec.pool.strata is None:
        yield "about", (
            "is 'population', and items that count differently (`pool.weight`) are no simple sample of one; "
            "leave one of the two out, or name the strata that it was drawn in under `pool.strata`"
        )
    if anew:
        yield "about", (
            f"is 'population', and method {spec.method!r} takes answers for draws from this pool's items; "
            "use another method, or leave it out"
        )
    if spec.pool.systems and not spec.pool.compares:
        yield "about", (
            "is 'population', and further systems beside the pool's own prediction are judged on the pool "
            "alone; name all of them under `systems`, or leave it out"
        )


def _of_audit(method_name: str, pool: Pool, budget: Budget) -> list[tuple[str, str]]:
    if not budget.audit:
        return []
    chosen = method(auto(method_name, trust="score").method if is_auto(method_name) else method_name)
    if not chosen.capabilities.audits:
        means = f" ({chosen.name} today)" if is_auto(method_name) else ""
        able = " or ".join(methods_that("audits"))
        return [("budget.audit", f"cannot be used by method {method_name!r}{means}: it has no wide interval "
                                 f"to bring down; use {able}, or leave it out")]
    if chosen != chosen.audited(0.0):
        return [("budget.audit", f"and method {method_name!r} both say how much is spread evenly; keep one")]
    return []


MOST_INHERITED = 100   # classes whose labels can be taken over


def why_cold(
    kind: OutcomeKind, pool: Pool, measures: Sequence[MeasureChoice], method_name: str
) -> str | None:
    """Why an evaluation of any outcome cannot start from labels of another pool; None where it can.

    Which evaluations may start from labels of other pools (`warm_start`, a monitor's `carry_over`), and why
    others may not.

    A label model takes such labels as pseudo-labels of its cells. What an evaluation knows of labels without
    one are sums over its own draws, by their chances; a label of another pool was drawn with none of them.
    """
    if kind.name == "questions":
        return "teaches a model of one question, and several are asked; leave it out"
    try:
        chosen = outcome_method(method_name, kind)
        estimands = [choice.outcome_measure(kind, 1) for choice in measures]
    except BadInput:
        return None   # said already
    if not kind.one_of_parts:
        return (
            "teaches a model of classes; an evaluation of other outcomes weighs guesses by its own draws, of "
            "which labels of another pool are none; leave it out"
        )
    if pool.weight is not None:
        return (
            "teaches how many of a cell's items are of a class, and with pool.weight what they weigh is "
            "asked, which a number of items does not tell; leave it out"
        )
    if not chosen.capabilities.starts_warm:
        return (
            f"cannot be used by method {method_name!r}: what it learns of labels are sums over its own draws "
            "by their chances, and a label of another pool has no chance here; use "
            f"{' or '.join(_that_start_warm(kind))}, or leave it out"
        )
    from assay.evalcore.methods.any_outcome.recalibrated import RecalibratedSample
    from assay.evalcore.methods.any_outcome.score_cells import class_asked_of

    along_a_score = isinstance(chosen, RecalibratedSample)
    if along_a_score and class_asked_of(kind, estimands) is None \
            and not _along_several(kind, pool, estimands):
        alternatives = [name for name in _that_start_warm(kind) if name != chosen.name]
        return (
            "teaches 'recalibrated' how labels of one class follow its score, or of a few that have a "
            "probability each, and these measures are of no such classes: other guesses it weighs by its own "
            "draws, of which labels of another pool are none. Name the class, as in {name: f1, class: ...}, "
            "or leave it out"
            + (f"; or use {' or '.join(alternatives)}" if alternatives else "")
        )
    if pool.compares:
        return "teaches how labels follow what one system says, and several are compared; leave it out"
    column = pool.prediction or pool.probability or pool.score
    if not column and (along_a_score or not pool.judges):
        return "teaches how labels follow predictions or probabilities, and the pool has neither"
    if len(kind.parts) > MOST_INHERITED:
        return f"takes labels of at most {MOST_INHERITED} classes; leave it out"
    return None


def _along_several(kind: OutcomeKind, pool: Pool, measures: Sequence[OutcomeMeasure]) -> bool:
    """Whether each of the classes that measures name has a score model of its own."""
    from assay.evalcore.methods.any_outcome.several_classes import named_classes

    along = pool.prediction is not None and pool.probability is not None
    beside = pool.cluster is not None or pool.judges or pool.covariates is not None
    return along and not beside and bool(named_classes(kind, measures))


def that_draw_alone(kind: OutcomeKind, method_name: str) -> list[str]:
    """The methods of any outcome whose estimates rest on their own draws alone, whatever their label model
    starts from; none where this is one."""
    alone = [name for name in _that_start_warm(kind) if OUTCOME_METHODS[name].capabilities.draws_alone]
    return [] if outcome_method(method_name, kind).name in alone else alone


def _that_start_warm(kind: OutcomeKind) -> list[str]:
    able = methods_that("starts_warm", OUTCOME_METHODS)
    return [name for name in able if kind.name in OUTCOME_METHODS[name].kinds]


def problems_of_start(
    name: str, start: WarmStart, reason: str | None, alone: Sequence[str]
) -> list[tuple[str, str]]:
    """(key, what is wrong with it) of a `warm_start`; name: of the evaluation.

    reason: why it cannot be, if it cannot; alone: the methods whose estimates rest on their own draws alone,
    where the spec's is none of them
    """
    if reason is not None:
        return [("warm_start", reason)]
    if start.evaluation == name:
        return [("warm_start", "names the evaluation itself; name an earlier one")]
    if start.file and alone:
        return [(f"warm_start.{start.key}", "holds labels of items that nobody knows how they were chosen, "
                                            "and the estimates of this method would rest on them; use "
                                            f"{' or '.join(alone)}, whose estimates rest on their own draws "
                                            "alone")]
    return []
