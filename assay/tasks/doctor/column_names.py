"""What the names of columns say: which is an id, a time, a prediction, a label, a probability, a score.

Names are read by their whole words: `y_pred` is a prediction, `y_true` a label, `problem` no probability and
`candidate` no date.
"""

import re

from assay.tasks.doctor.columns import LookedAtColumn

# what data frames call their index when they write it, and what a CSV column without a name is called here
INDEX = r"(column 1|unnamed: ?\d+|__index_level_\d+__|index|row|row_?(number|nr|id))$"
ID = r"(.*_)?(id|uid|uuid|guid|key|index)$|id_.*"
SAYS_WHETHER = r"(is|has|was)_.*"
PERCENT = r"(.*[^a-z])?(%|percent|percentage|pct)([^a-z].*)?$"

# Words of names. `y_pred` has the word pred, `problem` does not have the word prob.
_WORDS = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TIME = frozenset(("time", "times", "date", "dates", "datetime", "timestamp", "ts", "year", "month", "day"))
_TIME_WITHIN = re.compile("time|date|stamp")
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?|\d{1,4}[./]\d\d?[./]\d{1,4}|\d{10,19}(\.\d*)?$|\d\d?:\d\d")
_LETTERS = re.compile(r"[A-Za-z]+")
_IN_TIMES = re.compile(
    r"[tzqwh]|[ap]m|week|quarter|utc|gmt|[a-z]{1,2}[sd]?t|"
    r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}", re.I,
)
_P = re.compile(r"p\d*")
TRUTH = frozenset(("true", "truth", "groundtruth", "gold", "golden", "actual", "actuals"))
_LABEL = TRUTH | {"label", "labels", "target", "targets"}
PREDICTION = frozenset((
    "prediction", "predictions", "pred", "preds", "predict", "predicted", "hat", "yhat", "decision",
    "forecast", "forecasted", "estimate", "estimated", "inferred",
))
MACHINE = frozenset(("model", "llm", "gpt", "classifier", "system", "machine", "auto", "ai"))
_WHAT_IS_SAID = frozenset(("class", "label", "labels", "value", "output", "answer", "category", "decision"))
PROBABILITY = frozenset((      # and p, in front
    "prob", "probs", "proba", "probas", "probability", "probabilities", "confidence", "conf",
    "logprob", "logprobs",
))
# what a program decided, of a column with two values
DECIDED = frozenset((
    "flag", "flagged", "match", "matched", "guess", "guessed", "alert", "alerted", "detected", "detection",
    "classified", "verdict", "result", "caught", "blocked",
))
CLERICAL = frozenset(("clerical", "reviewed", "adjudicated"))     # what a person decided, in record linkage
SCORE = frozenset(("score", "scores", "logit", "logits", "margin", "similarity"))
# the higher, the less sure, or the farther from what is looked for
AGAINST = frozenset(("distance", "distances", "dissimilarity", "error", "errors", "loss", "entropy",
                     "perplexity", "uncertainty", "variance"))
JUDGE = frozenset(("judge", "rater", "grader", "critic"))
_ABOUT = frozenset((        # what is said about a prediction or label, and is none
    "id", "uid", "uuid", "key", "index", "time", "date", "at", "on", "timestamp", "version", "count",
    "source", "error", "lower", "upper", "low", "high", "std",
))
# names that mean one thing; `true` and `y_true` are as good as `label`
_LABEL_NAMES = frozenset((
    "label", "labels", "y", "y true", "y test", "truth", "true", "target", "targets", "gold", "actual",
    "actuals", "ground truth", "groundtruth", "true label", "gold label", "is match", "obs", "observed",
))
_VAGUE = 3       # the rank of names that may as well be a text that people judge
NOBODY = 9      # worse than every rank


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name, in lower case.

    >>> words_of("predictedLabel_2")
    ('predicted', 'label', '2')
    """
    return tuple(_WORDS.findall(_HUMP.sub("_", name).lower()))


def label_rank(name: str) -> int:
    """How well a name says that the column holds the truth, from 1; NOBODY for not at all. The least rank of
    all columns wins."""
    words = words_of(name)
    if " ".join(words) in _LABEL_NAMES:
        return 1
    word_set = set(words)
    if not words or word_set & (PREDICTION | MACHINE | JUDGE | PROBABILITY) or words[-1] in _ABOUT:
        return NOBODY
    if word_set & SCORE and not word_set & TRUTH:
        return NOBODY
    if words[-1] in _LABEL or words[0] in TRUTH or words[:2] == ("ground", "truth"):
        return 2
    return _VAGUE if words[0] in _LABEL or words == ("answer",) else NOBODY


def prediction_rank(name: str) -> int:
    """How well a name says that the column holds predictions: 1 at best (`y_pred`), 2 with further words, 3
    for a vague name that may be a text's (`output`), and `NOBODY` (9) for not at all."""
    words = words_of(name)
    word_set = set(words)
    if not words or word_set & (PROBABILITY | JUDGE) or words[-1] in _ABOUT:
        return NOBODY
    if word_set & PREDICTION:
        if word_set & SCORE:
            return _VAGUE
        return 1 if word_set <= PREDICTION | _WHAT_IS_SAID | {"y", "target"} else 2
    if words in (("class",), ("output",)) or (word_set & MACHINE and words[-1] in _WHAT_IS_SAID):
        return _VAGUE
    return NOBODY


def is_label(column: LookedAtColumn) -> bool:
    """Whether a column is called a label, and is no text that people judge."""
    return label_rank(column.name) < NOBODY and not is_text_to_judge(column)


def is_prediction(column: LookedAtColumn) -> bool:
    """Whether a column is called a prediction, and is no text that people judge."""
    return prediction_rank(column.name) < NOBODY and not is_text_to_judge(column)


def is_text_to_judge(column: LookedAtColumn) -> bool:
    """Texts that hardly occur twice, called `answer`, `model_output` and the like: no class."""
    return may_be_a_text(column.name) and column.kinds() > 2 and not (
        column.numbers or column.names_of_classes
    )


def may_be_a_text(name: str) -> bool:
    """Whether a column of this name may as well hold texts that people judge."""
    vague, words = min(label_rank(name), prediction_rank(name)) == _VAGUE, words_of(name)
    return vague and words[-1] in ("answer", "output") and words[0] not in _LABEL


def is_probability(name: str) -> bool:
    """Whether a column is called a probability: `p_spam`, `p1`, `proba`, `confidence`."""
    words = words_of(name)
    return bool(words and _P.fullmatch(words[0])) or not PROBABILITY.isdisjoint(words)


def is_time(column: LookedAtColumn) -> bool:
    """Whether a column is called a time in a word of its own, or within one and holds dates. Such columns are
    not shown to people as something to judge."""
    words = words_of(column.name)
    texts = [value for value in column.values if any(sign.isdigit() for sign in value)]
    if not texts:
        return False
    if _TIME & set(words) or words[-1:] == ("at",):
        return len(texts) == len(column.values) and all(map(_is_like_a_time, texts))
    dates = sum(map(bool, map(_DATE.match, texts))) > len(texts) / 2
    return dates and _TIME_WITHIN.search(column.name.lower()) is not None


def _is_like_a_time(text: str) -> bool:
    """Whether its letters are those of days, months and zones."""
    return all(map(_IN_TIMES.fullmatch, _LETTERS.findall(text)))


def has_word(column: LookedAtColumn, words: frozenset[str]) -> bool:
    """Whether one of these is a word of the column's name."""
    return not words.isdisjoint(words_of(column.name))


def gives_away(name: str) -> str | None:
    """What a column of this name would tell people who have to judge for themselves; None for nothing. Only
    names are looked at; values may still say more."""
    if may_be_a_text(name):
        return None
    words = frozenset(words_of(name))
    checks = (("the truth", label_rank(name) < NOBODY), ("a prediction", prediction_rank(name) < NOBODY),
              ("a probability", is_probability(name)), ("a score", bool(words & SCORE)))
    return next((what for what, is_so in checks if is_so), None)
