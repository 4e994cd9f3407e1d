"""The commented spec that `assay init` writes. It loads as it stands; a test holds it to that."""

from textwrap import fill

from assay.evalcore.measures.registry import spellings
from assay.tasks.desks.registry import DESK_KINDS

_WIDTH = 100         # of the comment that lists the measures
_TEMPLATE = """\
# An evaluation, as Assay reads it. `assay begin` checks it against your data before anything is posted.
# Paths are relative to the directory you run assay in. Secrets never go here: use the environment.

name: my-first-evaluation        # letters, digits, dots, dashes, underscores; unique in its store

pool:
  # One file, a folder or a glob; .parquet, .csv, .jsonl (the last two also .gz); local, s3://, gs:// or az://
  source: predictions.parquet
  id: item_id                    # unique, never empty
  score: score                   # any real number, higher is more positive; and/or:
  # probability: p_match         # chance of the positive class, 0 to 1
  prediction: prediction         # class names as below, 0/1 or true/false; or instead of it:
  # threshold: 0.0               # a score above it is positive (a probability: at least it)
  # thresholds: [0.3, 0.5, 0.7]  # instead of both: compare thresholds of the score; or compare models with
  # systems: {old: {prediction: p1}, new: {prediction: p2}}, without score and prediction (docs/outcomes.md)
  # baseline: old                # whom the others are compared with; pairs: all compares every two
  display: [name_a, name_b]      # the only columns people see
  # show_as: {photo: image}      # text (default), image (a URL), html or markdown
  segments: []                   # columns that split the pool, such as [region]
  # judge: [gpt, rules]          # columns that guess the label, with more than two classes, grades or numbers
  # cluster: prompt              # what items come together in; intervals are then over clusters
  # features: [jaccard, year]    # columns of numbers, for methods with partition=kd-tree or clusters

labels: {positive: match, negative: "no match"}
# or more than two classes: {classes: [cat, dog, owl]}, or {grades: [1, 2, 3]}; then no score, and in the pool
# probability: {prefix: p_}, {class: column} or one column, the confidence; or none (docs/outcomes.md)
# or {number: {min: 0, max: 100}}, {tags: [red, round]} or {prefer: [column_a, column_b], tie: tie}

@MEASURES@
# or a list of them. The first drives the choice of items (with some methods all do: docs/price.md), or those
# under `drive: [recall]`; the others are estimated from the same labels.
# Curves: {name: pr_curve, at: [0.2, 0.5]}, roc_auc (docs/outcomes.md).
measure: f1
# drive: [f1]

target: {half_width: 0.05, confidence: 0.95}     # or {variance: 0.0004}; stop when it is met,
budget: {labels: 500}                            # and never ask for more items than this;
#                                                  audit: 50 spreads so many of them evenly (docs/price.md)
batch_size: 25                                   # items asked in a round
method: auto

# question: Do both records describe the same person?      # asked about every item, above the answers
# guidelines: |                  # what people who label are told, every line a paragraph
#   Different spellings of one name are a match.

# Where people label. The token of Label Studio comes from the environment.
<desks>
# A desk also takes gold: {labels: known.csv, rate: 0.05}, items with a known answer that look like all
# others, and ask_again: true or false, surprising answers given to a second person (docs/annotators.md).
# adjudication: {rule: majority}                 # or dawid-skene, with annotators_per_item of 2 or more

# deadline: {round_hours: 72, then: close}       # or wait; how long a round waits for people
# skipped: ask-again                             # what everybody skipped: asked once more, or set-aside
# warm_start: {evaluation: NAME, discount: 0.5}  # start from the labels of an earlier evaluation

# outcomes: {source: chargebacks.csv, id: item_id, label: label}   # labels that came by themselves

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

seed: 7                          # with the name, fixes every random choice
"""


def spec_template() -> str:
    """A commented spec, ready to be edited."""
    measures = fill(
        ", ".join(spellings()) + ";", width=_WIDTH, initial_indent="# ", subsequent_indent="# "
    )
    desks = "\n# ".join(f"desk: {kind.example}" for kind in DESK_KINDS.values())
    return _TEMPLATE.replace("@MEASURES@", measures).replace("<desks>", desks)
