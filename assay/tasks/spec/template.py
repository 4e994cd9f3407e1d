"""The commented specs that `assay init` writes, of an evaluation and of a monitor. They load as they stand; a
test holds them to that.
"""

from textwrap import fill

from assay.evalcore.measures.registry import spellings
from assay.tasks.desks.registry import DESK_KINDS

_COMMENT_WIDTH = 100   # of the comment that lists the measures
_SPEC_TEMPLATE = """\
# An evaluation, as Assay reads it. `assay begin` checks it against your data before anything is posted.
# Paths are relative to the directory you run assay in. Secrets never go here: use the environment.

name: my-first-evaluation        # letters, digits, dots, dashes, underscores; unique in its store

pool:
  # One file, a folder or a glob; .parquet, .arrow, .csv, .jsonl (these two also .gz); local, s3://, gs://, az://
  source: predictions.parquet
  id: item_id                    # unique, never empty
  score: score                   # any real number, higher is more positive; and/or:
  # probability: p_match         # chance of the positive class, 0 to 1
  prediction: prediction         # class names as below, 0/1 or true/false; or instead of it:
  # threshold: 0.0               # a score above it is positive (a probability: at least it)
  # thresholds: [0.3, 0.5, 0.7]  # instead of both: compare thresholds of the score; or compare models with
  # systems: {old: {prediction: p1}, new: {prediction: p2}}, in place of both (docs/reference/systems.md)
  # baseline: old                # whom the others are compared with; pairs: all compares every two
  # margin: 0.02                # how much worse a cheaper system may be, to be called worth its price
  display: [name_a, name_b]      # the only columns people see
  # show_as: {photo: image}      # text (default), image (a URL), html or markdown
  segments: []                   # columns that split the pool, such as [region]
  # judge: [gpt, rules]          # columns that guess the label, with more than two classes, grades or numbers
  # covariates: [length]         # columns of numbers that errors may follow, with the same
  # spread: deviation            # with numbers: how uncertain each prediction is
  # cluster: prompt              # what items come together in; intervals are then over clusters
  # contenders: {columns: [model], names: [a, b, c]}   # rows that are one system's answer, or compare two
  # rank: rank                   # where a document stands in its query, the cluster: for dcg
  # earlier: [model_v1]         # results of earlier systems on the same items, as judges
  # weight: calls                # what each item counts for; measures are then of the weighted pool
  # strata: channel              # what the pool was drawn from, so many items of each: for about: population
  # features: [jaccard, year]    # columns of numbers, for methods with partition=kd-tree or clusters

labels: {positive: match, negative: "no match"}
# or more than two classes: {classes: [cat, dog, owl]}, or {grades: [1, 2, 3]}; then no score, and in the pool
# probability: {prefix: p_}, {class: column} or one column, the confidence; or none
# or {number: {min: 0, max: 100}}, {tags: [red, round]} or {prefer: [column_a, column_b], tie: tie}

@MEASURES@
# or a list of them. The first drives the choice of items (with some methods all do), or those
# under `drive: [recall]`; the others are estimated from the same labels.
# Curves: {name: pr_curve, at: [0.2, 0.5]}, roc_auc (docs/reference/curves.md).
measure: f1
# drive: [f1]

target: {half_width: 0.05, confidence: 0.95}     # or {variance: 0.0004}; stop when it is met,
#                                                  or {best_of: 0.01}: the best system is known.
#                                                  Of several measures: half_width: {f1: 0.05, recall: 0.1},
#                                                  or variance: {trace: 0.003}, which adds up all of them.
#                                                  Met at 2 looks in a row with 100 labels or more, with
#                                                  score-test at 1 with 50, unless looks: 1 and
#                                                  least_labels: 40 say otherwise
budget: {labels: 500}                            # and never ask for more items than this;
#                                                  audit: 50 spreads so many of them evenly; or
#                                                  money: 500, price: {label: 2.0, judge: 0.02} and
#                                                  judged: 4000, the items that the judge was paid for,
#                                                  pilot: 50, the labels_so_far that it paid for
batch_size: 25                                   # items asked in a round
method: auto
# trust: nothing                 # or score: what the interval of auto may take without being shown
# interval: guaranteed           # holds for any pool, at every look; with passive or stratified draws
# about: population              # intervals and target are about what the pool is a sample of; else pool

# question: Do both records describe the same person?      # asked about every item, above the answers
# guidelines: |                  # what people who label are told, every line a paragraph
#   Different spellings of one name are a match.

# Where people label. The token of Label Studio comes from the environment.
<desks>
# A desk also takes gold: {labels: known.csv, rate: 0.05}, items with a known answer that look like all
# others, and ask_again: true or false, surprising answers given to a second person.
# adjudication: {rule: majority}                 # or dawid-skene, with annotators_per_item of 2 or more

# deadline: {round_hours: 72, then: close}       # or wait; how long a round waits for people
# skipped: ask-again                             # what everybody skipped: asked once more, or set-aside
# warm_start: {evaluation: NAME, discount: 0.5}  # start from the labels of an earlier evaluation
# labels_so_far: {source: held.csv, drawn: random}   # a labelled sample to go on from; or weight: its chances

# outcomes: {source: chargebacks.csv, id: item_id, label: label}   # labels that came by themselves

# judges: {features: [length(name_a)]}           # what may move a judge from people; and audit: {...}

store: ./assay-ledger            # the record of the evaluation; or s3://bucket/prefix
# freeze_runner: processes:4     # who freezes a pool of millions of rows (docs/how-to/large-pools.md)

# limit: {min: 0.80}             # or max; optional: makes assay say ok, breach or inconclusive
# alerts:                        # who is told of a breach; addresses are secrets and live in the environment
#   channels:
#     - {name: ops, env: ASSAY_ALERT_OPS}     # the variable holds an Apprise URL, or a webhook's address
#     - {name: pager, block: pager-duty-webhook/on-call, min_severity: critical}     # a block of Prefect's
#   tell: [breach, recovery, failure]         # and inconclusive
#   cooldown_hours: 24
#   report_url: https://reports.example.com/{evaluation}.html     # what an alert links to

# owner: ada@example.com         # who answers for it; status, alerts and pages say so
# team: search
# price_per_label: 0.25          # what was spent is said beside the labels

seed: 7                          # with the name, fixes every random choice
"""


def spec_template() -> str:
    """The commented spec of an evaluation, in YAML, with every measure and kind of desk in it. It loads as
    it stands, ready to be edited."""
    measures = fill(
        ", ".join(spellings()) + ";", width=_COMMENT_WIDTH, initial_indent="# ", subsequent_indent="# "
    )
    desks = "\n# ".join(f"desk: {kind.example}" for kind in DESK_KINDS.values())
    return _SPEC_TEMPLATE.replace("@MEASURES@", measures).replace("<desks>", desks)


_MONITOR_TEMPLATE = """\
# A monitor, as Assay reads it: an evaluation's spec, with a window of time in its source and a `monitor:`
# section. Every window becomes an evaluation of its own, named <monitor>-<window>.
#   assay monitor THIS_FILE           schedules it on the Prefect server at PREFECT_API_URL
#   assay monitor THIS_FILE --once    does what is due now, here
#   assay history my-first-monitor    the windows, their verdicts, and what they cost
# Secrets never go here: use the environment.

name: my-first-monitor           # letters, digits, dots, dashes, underscores; at most 70

pool:
  # {date} is a day; or {year}, {year} and {month}, {year} and {week}, {week_start}, {date} and {hour}
  # Sweeps and the receiver read it too, from a folder of their own: give an absolute path, or s3://
  source: predictions/dt={date}/*.parquet
  id: item_id                    # an item that comes again and shows the same keeps its label
  score: score                   # any real number, higher is more positive; and/or:
  # probability: p_match         # chance of the positive class, 0 to 1
  prediction: prediction         # class names as below, 0/1 or true/false
  display: [name_a, name_b]      # the only columns people see
  segments: []                   # judged beside the whole, corrected for their number

# model_version: "1"             # another one begins reference and evidence anew (assay amend)
labels: {positive: match, negative: "no match"}
measure: f1                      # or a list; the first is watched

target: {half_width: 0.05, confidence: 0.95}     # of one window: stop when it is met,
budget: {labels: 200}                            # and never ask for more items than this in one batch
batch_size: 25
method: auto                     # recalibrated, unless said otherwise (docs/how-to/monitoring.md)

desk: {kind: label-studio, url: "http://127.0.0.1:8080", annotators_per_item: 1}
# desk: {kind: simulated, labels: "labels/dt={date}.csv"}

# Labels that come by themselves, after a delay; an item without one is then "no match".
# outcomes: {source: chargebacks.csv, id: item_id, label: label, complete_after_days: 30, otherwise: no match}

# store: s3://bucket/prefix      # the record; ASSAY_STORE, which sweeps and the receiver watch, unless given
# freeze_runner: processes:4     # who reads and freezes windows of millions of rows

limit: {min: 0.80}               # the floor; and/or monitor.drop
# alerts:                        # who is told of a breach; addresses are secrets and live in the environment
#   channels: [{name: ops, env: ASSAY_ALERT_OPS}]
#   report_url: "https://reports.example.com/{monitor}/windows/{window}.html"

monitor:
  first: "2026-11-20"            # the first window
  schedule: {cron: "0 6 * * *"}  # when to look; or {every_minutes: 60}
  settle_hours: 2                # wait so long after a window's end for its predictions
  # grace_hours: 24              # and call it missing when none came so long after that
  # timezone: "Europe/Berlin"    # where a day begins at midnight; UTC unless said
  # without: [saturday, sunday, "2026-12-25"]   # windows that the stream does not have
  # follow_up_days: 14           # windows that ended longer ago buy no further labels
  # reserve: 1                   # share of quiet_labels kept for each window still to come this month
  # catch_up: {newest: 7, older_than: 31}   # late windows that people get at once, and none so many days old
  # least_items: 20              # a window of fewer predictions gets no verdict
  # stale_days: 7                # people should have finished a window by then
  late_days: 7                   # and reissue it when they change within so many days
  monthly_labels: 2000           # the most labels to buy in a calendar month, all windows together
  quiet_labels: 50               # a window without a signal gets at least so many; another the full budget
  follow_ups: 2                  # further batches for a window that stays inconclusive
  error_rate: 0.05               # chance of a false breach in `horizon` windows
  # drop: {by: 0.03}             # worse than the first window by more than this; or, than those before:
  # drop: {by: 0.03, than: previous, windows: 4}
  # horizon: 200
  # test: e-detector             # or e-process, alpha-spending, cusum
  # carry_over: 0.5              # what a label of the window before is worth to the label model
  # recent: 4                    # windows whose mean is shown, and says how many labels would decide
  # sizing: fixed                # a window without a signal always gets quiet_labels
  # signal_rate: 0.01            # chance that an ordinary window raises a signal
  # signal_windows: 5            # earlier windows without which none is raised

# owner: ada@example.com         # who answers for it; status, alerts and pages say so
# team: search
# price_per_label: 0.25          # what was spent is said beside the labels

seed: 7                          # fixes every random choice
"""


def monitor_template() -> str:
    """The commented spec of a monitor, in YAML. It loads as it stands, ready to be edited. `assay init
    --monitor` writes it."""
    return _MONITOR_TEMPLATE
