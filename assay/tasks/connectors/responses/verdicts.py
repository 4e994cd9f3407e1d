"""One reader of verdicts: what a scorer's values are, what people are asked so that both can be compared, and
which values are none.

    right, wrong    true and false, yes and no, pass and fail, C and I, or nothing but 0 and 1; people say
                    correct or incorrect
    names           of a few classes (correct, partial, incorrect); people give one of them
    grades          whole numbers from 0 to 10 at most, such as 1 to 5; people give one of them
    numbers         any others, within 0 and 1 or not; people give such a number

A number may stand in a text: "4", "Score: 7/10", "[[3]]", "70%".  A scale comes from values alone: what is
not finite, a word for no value, and texts among numbers (a refusal, a grader that failed) are gaps, which are
counted and named.
"""

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import pyarrow as pa

from assay.evalcore.json_values import Json, JsonObject
from assay.tasks.sources.values import NO_VALUE

RIGHT, WRONG, PARTIAL = "correct", "incorrect", "partial"
_MOST_GRADES = 11        # as 0 to 10 has
_MOST_NAMES = 20
_LONGEST_NAME = 40       # characters, of a class that is named among numbers or truths
_MOST_WORDS = 3
_LEAST_NAMED = 0.8       # share of texts that a few names have to cover


class VerdictReading(NamedTuple):
    """A single value as it stands, before the others of its scorer are looked at."""

    kind: Literal["truth", "mark", "letter", "number", "name", "gap"]     # yes and no; pass and fail; ...
    value: bool | float | str
    out_of: float = 0.0      # of a number: 10 in 7/10, 100 of a percentage, else 0


_YES = frozenset((
    "true", "yes", "oui", "vrai", "ja", "wahr", "sí", "sì", "vero", "verdadero", "sim", "verdadeiro", "是",
))
_NO = frozenset((
    "false", "no", "non", "faux", "nein", "nee", "nej", "falsch", "falso", "não", "否",
))
_RIGHT_WORDS = frozenset(("pass", "passed", "correct", "right", "👍", "✅", "✔", "✓"))
_WRONG_WORDS = frozenset((
    "fail", "failed", "incorrect", "wrong", "not correct", "not right", "not passed", "👎", "❌", "✗", "✘",
))
_LETTERS: Mapping[str, bool | str] = {"C": True, "I": False, "N": False, "P": PARTIAL, "Y": True}
_TRUE_OR_FALSE = {"T": True, "F": False}
_HALF = frozenset((PARTIAL, "partially", "partially correct", "partly correct"))
_NOTHING = frozenset(word.casefold() for word in NO_VALUE) | {
    "error", "undefined", "n.a", "not applicable", "not available", "inf", "-inf", "infinity", "-infinity",
    "+inf",
}
_UNSURE = frozenset(("unknown", "skipped", "skip", "refused", "refusal", "cannot determine", "undetermined",
                     "unsure", "invalid", "timeout", "unparseable", "abstain", "unable to judge"))
_LABEL = re.compile(
    r"(?:#+\s*)?(?:(?:the|my|final|overall|total)\s+)*"
    r"(?:score|rating|grade|verdict|answer|result|judge?ment|label)(?:\s+is\b\s*[:=]?|\s*[:=])\s*", re.I)
_DIGITS = r"[-+]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+|0,\d+|[1-9]\d*,\d{1,2})(?:e[-+]?\d+)?"
_REMARK = r"(?:\s*[:;,.]\s+|\s*[(\u2013\u2014]\s*|\s+-+\s+)[^\W\d].*"     # 4 - good; 4. It says so
_NUMBER = re.compile(
    rf"({_DIGITS})\s*(?:(?:/|out of)\s*({_DIGITS})(?:\s+[^\W\d].*)?|(%))?"
    rf"(?:\s*(?:points?|stars?))?(?:{_REMARK})?", re.I | re.DOTALL)
# Fail: it says nothing; a word that is qualified, as in "correct, but too long", is none of a verdict
_REMARKED = re.compile(
    r"([^\W\d][\w/.]+|[^\W\d](?!,))(?:\s*[:;,.!]\s+|\s*[(\u2013\u2014]\s*|\s+-+\s+)"
    r"(?!but|though|however|part)[^\W\d].*", re.I)
_REFUSAL = re.compile(
    r"(?:i['\u2019]m|i am)?\s*(?:sorry|unable)\b|i\s+(?:cannot|can['\u2019]?t|could not)\b|as an ai\b", re.I)
_AT_THE_END = re.compile(rf"\s(?P<inside>{_DIGITS}\s*(?:/|out of)\s*{_DIGITS})[.!]?\Z", re.I)
_WRAPPED = re.compile(      # <score>4</score>, \boxed{4}, [[4]], and [RESULT] 4 at the end
    r"(?:<(?P<tag>\w+)>|\\boxed\{|\[\[|\[RESULT\])(?P<inside>[^<>{}\[\]]*)(?:</(?P=tag)>|\}|\]\]|\Z)")
_STARS = re.compile("([★⭐]*)(☆*)")
_THOUGHT = re.compile(r"\A\s*<(think|thinking|reasoning)>.*</\1>\s*", re.DOTALL)
_FENCED = re.compile(r"```\w*\s*(.*?)\s*```", re.DOTALL)
_SHADES = re.compile("[\U0001f3fb-\U0001f3ff\ufe0f]")       # of skin; and the mark of a picture


def verdict_text(text: str) -> str:
    """A verdict's text without what a model thought before it, and without a fence of code around it;
    digits of any script as 0 to 9.

    >>> verdict_text("<think>3, or 4?</think>```json 4```")
    '4'
    """
    bare = _THOUGHT.sub("", unicodedata.normalize("NFC", text)).strip()
    fenced = _FENCED.fullmatch(bare)
    shown = bare if fenced is None else fenced[1]
    return shown if shown.isascii() else "".join(
        str(unicodedata.decimal(sign)) if sign.isdecimal() else sign for sign in shown)


def reading_of(value: object) -> VerdictReading:
    """A verdict of JSON read whichever way a tool writes it: as truth, mark, letter, number, name, or a gap
    where it says nothing."""
    if isinstance(value, bool):
        return VerdictReading("truth", value)
    if isinstance(value, int | float):
        return _number_reading(value, 0.0)
    written = _SHADES.sub("", verdict_text(value)) if isinstance(value, str) else ""
    wrapped = _WRAPPED.fullmatch(written)
    if wrapped is None and (reading := _behind_reasons(written)):
        return reading
    text = " ".join((written if wrapped is None else wrapped["inside"]).split())
    named = _LABEL.sub("", text, count=1)
    bare = named.strip(" *_`'\"[](){}.!") if text[:1] != "." else text
    remarked = _REMARKED.fullmatch(bare)
    word = (bare if remarked is None else remarked[1]).casefold()
    if not bare or word in _NOTHING or _REFUSAL.match(bare):
        return VerdictReading("gap", text)
    if word in _YES | _NO:
        return VerdictReading("truth", word in _YES)
    if word in _RIGHT_WORDS | _WRONG_WORDS:
        return VerdictReading("mark", word in _RIGHT_WORDS)
    if word.upper() in _LETTERS:
        return VerdictReading("letter", word.upper())
    if len(word) == 1 and word.isalpha():
        return VerdictReading("name", word.upper() if bare == word.upper() or remarked else bare)
    if stars := _STARS.fullmatch(bare):
        return _number_reading(len(stars[1]), float(len(bare)) if stars[2] else 0.0)
    if number := _NUMBER.fullmatch(bare):
        digits, out_of, percent = number.groups()
        return _number_reading(_float_of(digits), 100.0 if percent else _float_of(out_of) if out_of else 0.0)
    name = named.strip(" *_`[]")
    short = len(name.split()) <= _MOST_WORDS
    return VerdictReading("name", (name.strip("'\"").rstrip(".!") if short else name) or text)


def _behind_reasons(text: str) -> VerdictReading | None:
    """What a text says beside its reasons: in a mark of which there is one, in the first of several lines, in
    the last, or as 4/5 at the end; None where none of these says anything."""
    marks = [*_WRAPPED.finditer(text)] or [*_AT_THE_END.finditer(text)]
    telling = [mark["inside"] for mark in marks] if len(marks) == 1 else []
    if "\n" in text:
        lines = text.splitlines()
        telling += [lines[0], *([lines[-1]] if _LABEL.match(lines[-1].lstrip("*_` ")) else [])]
    readings = map(reading_of, telling)
    return next((r for r in readings if (r.kind not in ("name", "gap") or len(str(r.value)) == 1)
                 and not 0 < r.out_of < float(r.value)), None)


def _float_of(digits: str) -> float:
    return float(digits.replace(",", "."))


def _number_reading(value: float, out_of: float) -> VerdictReading:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    finite = math.isfinite(number)
    return VerdictReading("number", number, out_of) if finite else VerdictReading("gap", f"{number}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """What a scorer's verdicts are, as a column and as the labels of a spec."""

    type: pa.DataType
    labels: JsonObject
    asks: str                         # what people answer, in a sentence
    measures: tuple[Json, ...]        # of responses, whether or not anything predicts the label
    of_prediction: tuple[Json, ...]   # how far the scorer agrees with people
    half_width: float
    good_end: str | None = None       # of classes: the one that is good, where words say so

    @property
    def names(self) -> list[str]:
        """The names of the classes on this scale; none of grades and numbers."""
        return [str(name) for name in self.labels.get("classes") or ()]  # type: ignore[union-attr]

    def rank(self, verdict: str | float) -> float | None:
        """A number that is larger for a better verdict; None where nothing says which is better."""
        if not isinstance(verdict, str):
            return verdict
        if verdict == PARTIAL and self.good_end == RIGHT:
            return 0.5
        return None if self.good_end is None else float(verdict == self.good_end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """What the values of one scorer, or of one question to people, come to."""

    scale: Scale | None              # None: there are too many names, or no verdict
    written: Mapping[VerdictReading, str | float]    # as a column has it; gaps are not there
    gaps: Mapping[str, int]          # what stands where no verdict is, and how often

    @property
    def gaps_in_words(self) -> str:
        """How many gaps there are, with up to three of the commonest texts that stand in them, for a
        message."""
        commonest = Counter(self.gaps).most_common(3)
        values = ", ".join(repr(text[:40]) if text else "nothing" for text, _ in commonest)
        return f"{sum(self.gaps.values()):,} ({values}{', ...' if len(self.gaps) > len(commonest) else ''})"


_Counts = Mapping[VerdictReading, int]


def verdicts_of(counts: _Counts, name: str = "") -> Verdicts:
    """The scale that these values have together, counted: the commoner kind of values is the scale's.

    name    of the scorer: yes, true and 1 of `hallucination` are a hallucination, and nothing correct
    """
    written, scale = _of_kinds(_resolved(counts), counts)
    yes_or_no = {reading.kind for reading in written} <= {"truth", "number"} and len(name) <= _LONGEST_NAME
    if scale is not None and scale.names == [RIGHT, WRONG] and yes_or_no and _side(name) == "bad":
        names = {RIGHT: name, WRONG: f"not {name}"}
        written, scale = {r: names[str(value)] for r, value in written.items()}, _classes([*names.values()])
    gaps: Counter[str] = Counter()
    for reading, times in counts.items():
        if reading not in written:
            gaps[str(reading.value)] += times
    return Verdicts(scale=scale, written=written, gaps=gaps)


# of columns that are no verdicts, whatever stands in them
_NO_SCORES = ("id", "index", "unnamed", "column", "latency", "duration", "time", "cost", "token", "length")


def is_score(name: str, values: Sequence[object], *, words: bool = True) -> bool:
    """Whether a column holds what a metric says: numbers, truths, or names of which one is good; and no codes
    (007), counts or ids.

    words    whether names count
    """
    if any(word.removesuffix("s") in _NO_SCORES for word in re.split(r"[^a-z]+", name.casefold())):
        return False
    readings = Counter(reading_of(value) for value in values if not isinstance(value, list | Mapping))
    numbers = [float(reading.value) for reading in readings.elements() if reading.kind == "number"]
    counts = len(set(numbers)) == len(numbers) > 10 and all(number.is_integer() for number in numbers)
    named = [reading for reading in readings if reading.kind == "name"]
    codes = any(str(reading.value).isdigit() or not words for reading in named)
    scale = verdicts_of(readings).scale
    return scale is not None and not (counts or codes) and (not scale.names or scale.good_end is not None)


def _resolved(counts: _Counts) -> dict[VerdictReading, float | str | bool]:
    """Every reading but gaps as a truth, a number or a name. Letters are truths only where no other letter
    stands among them (A, B and C are grades)."""
    names = {str(reading.value) for reading in counts if reading.kind == "name"}
    letters = {name.upper() for name in names if len(name) == 1}
    grades = bool(letters.difference(_TRUE_OR_FALSE)) or letters == {"F"}
    resolved: dict[VerdictReading, float | str | bool] = {}
    for reading in counts:
        value = reading.value
        if reading.kind == "letter" and not grades:
            value = _LETTERS[str(value)]
        elif reading.kind == "name" and not grades and str(value).upper() in _TRUE_OR_FALSE:
            value = _TRUE_OR_FALSE[str(value).upper()]
        elif reading.kind == "name" and str(value).casefold() in _HALF:
            value = PARTIAL
        if reading.kind != "gap":
            resolved[reading] = value
    return resolved


def _of_kinds(
    values: Mapping[VerdictReading, float | str | bool], counts: _Counts
) -> tuple[dict[VerdictReading, str | float], Scale | None]:
    """What each value is on the scale that most of them are of, and that scale."""
    numbers = {r: float(v) for r, v in values.items() if isinstance(v, float)}
    truths = {r: v for r, v in values.items() if isinstance(v, bool)}
    names = {r: str(v) for r, v in values.items() if isinstance(v, str)}
    halves = {r for r, v in names.items() if v == PARTIAL}
    other_names = sum(counts[r] for r in names if r not in halves)
    if all(number in (0.0, 1.0) and not r.out_of for r, number in numbers.items()):
        if sum(counts[r] for r in (*numbers, *truths)) >= other_names:
            truths |= {r: bool(number) for r, number in numbers.items()}
        numbers = {}
    elif all(0 <= number <= 1 and not r.out_of for r, number in numbers.items()):
        # some graders say right, partial and wrong, and others how right: all are numbers from 0 to 1
        numbers |= {r: float(truth) for r, truth in truths.items()} | dict.fromkeys(halves, 0.5)
        names, truths = {r: v for r, v in names.items() if r not in halves}, {}
    words = sum(counts[r] for r in (*truths, *names))
    if numbers and sum(counts[r] for r in numbers) >= words:
        return _as_numbers(numbers)
    if truths:
        names = {r: v for r, v in names.items() if _is_class(v)}
    if truths and not any(truths.values()) and any(_side(name) == "good" for name in names.values()):
        names |= {r: str(r.value) if r.kind == "name" else WRONG for r in truths}      # good in other words
        truths = {}
    classes = {r: RIGHT if truth else WRONG for r, truth in truths.items()} | _spelled_alike(names, counts)
    classes = classes if len(set(classes.values())) <= _MOST_NAMES else _often(classes, counts)
    different = set(classes.values())
    if not different or len(different) > _MOST_NAMES:
        return {}, None
    marks = (RIGHT, WRONG) if truths else ()
    return {**classes}, _classes([*marks, *sorted(different.difference(marks))])


def _is_class(name: str) -> bool:
    """Whether a word beside right and wrong is a class of its own, and no refusal or remark."""
    short = len(name) <= _LONGEST_NAME and len(name.split()) <= _MOST_WORDS
    return short and name.casefold() not in _UNSURE


def _spelled_alike(texts: Mapping[VerdictReading, str], counts: _Counts) -> dict[VerdictReading, str]:
    """Names that differ by capitals, dashes and underscores alone are one, in the commonest spelling."""
    spellings: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for reading, name in texts.items():
        spellings[_plain(name)][name] += counts[reading]
    best = {word: min(tally, key=lambda name: (-tally[name], name)) for word, tally in spellings.items()}
    return {reading: best[_plain(name)] for reading, name in texts.items()}


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", " ", name.casefold())


def _often(written: Mapping[VerdictReading, str], counts: _Counts) -> dict[VerdictReading, str]:
    """The names that came up more than once, where they are nearly all that was said; else all."""
    times: Counter[str] = Counter()
    for reading, name in written.items():
        times[name] += counts[reading]
    few = {name for name, n in times.items() if n > 1}
    covered = sum(times[name] for name in few) / max(sum(times.values()), 1)
    return {r: name for r, name in written.items() if name in few or covered < _LEAST_NAMED}


def _as_numbers(
    numbers: Mapping[VerdictReading, float]
) -> tuple[dict[VerdictReading, str | float], Scale | None]:
    """Of numbers out of ten, the ten is the end of the scale; of mixed ends and of percentages, shares."""
    ends = {reading.out_of for reading in numbers}
    highest = max(ends)
    if ends - {0.0, highest} or highest == 100 or (0.0 in ends and highest and any(
        v > highest for r, v in numbers.items() if not r.out_of
    )):
        shares = {r: v / r.out_of if r.out_of else v for r, v in numbers.items()}
        return {**shares}, _number(list(shares.values()))
    values = list(numbers.values())
    if all(value.is_integer() and 0 <= value < _MOST_GRADES for value in values) and highest < _MOST_GRADES:
        top = int(max(*values, highest, 1))
        return {**numbers}, _grades(range(int(min(*values, 1, top - 1)), top + 1))
    return {**numbers}, _number([*values, *((0.0, highest) if highest else ())])


def _classes(names: list[str]) -> Scale:
    if len(names) == 1:
        names = [names[0], f"not {names[0]}"]       # somebody who disagrees has to have an answer
    good = good_end(names)
    rates: tuple[Json, ...] = tuple({"name": "rate", "class": name} for name in ([good] if good else names))
    unsure = "" if good else (" No word says which of them is good, so the share of each is measured: keep "
                              "the one that you want to know.")
    return Scale(
        type=pa.string(), labels={"classes": [*names]}, asks=_asks("one of", names) + unsure, measures=rates,
        of_prediction=("accuracy",), half_width=0.05, good_end=good,
    )


def _grades(grades: range) -> Scale:
    return Scale(
        type=pa.float64(), labels={"grades": [*grades]}, asks=_asks("a grade:", grades), measures=("mean",),
        of_prediction=("mae", "bias"), half_width=_narrow(len(grades) - 1),
    )


def _number(numbers: Sequence[float]) -> Scale:
    within = all(0 <= number <= 1 for number in numbers)
    bounds: JsonObject = {"min": 0, "max": 1} if within else {}
    return Scale(
        type=pa.float64(), labels={"number": bounds}, measures=("mean",), of_prediction=("mae", "bias"),
        asks=_asks("a number from 0 to 1" if within else "a number", ()),
        half_width=0.05 if within else _narrow(max(numbers) - min(numbers)),
    )


def _narrow(spread: float) -> float:
    """A twentieth of a range, to one figure."""
    return float(f"{spread / 20:.1g}") if 0 < spread < math.inf else 1.0


def _asks(what: str, values: Iterable[object]) -> str:
    return f"People see a response and answer {what} {', '.join(map(str, values))}".rstrip() + "."


# Which of several names is good, by the words in it.
_GOOD = frozenset((
    "correct", "right", "yes", "true", "pass", "passed", "good", "great", "excellent", "perfect",
    "acceptable", "accept", "accepted", "helpful", "safe", "relevant", "faithful", "grounded", "supported",
    "factual", "positive", "success", "successful", "ok", "okay", "satisfied", "satisfactory", "resolved",
    "solved",
    "complete", "completed", "compliant", "better", "win", "clean", "appropriate", "accurate", "entailed",
    "benign", "up", "like", "liked",
))
_BAD = frozenset((
    "incorrect", "wrong", "false", "fail", "failed", "failure", "toxicity", "bias", "hallucinations", "harm",
    "bad", "poor", "terrible", "awful",
    "unacceptable", "reject", "rejected", "unhelpful", "unsafe", "irrelevant", "unfaithful", "ungrounded",
    "unsupported", "hallucinated", "hallucination", "negative", "unsatisfied", "unsatisfactory", "unresolved",
    "unsolved", "incomplete", "noncompliant", "worse", "loss", "lose", "toxic", "harmful", "biased",
    "offensive", "inappropriate", "inaccurate", "contradicted", "broken", "down", "dislike", "disliked",
    "partial", "partially", "flagged", "error",
))


_NEGATIONS = frozenset(("no", "not", "non", "never", "without"))


def good_end(names: Sequence[str]) -> str | None:
    """The class that is good: the only one with a good word and no bad one, or the only one without a bad
    word; None where that is not one.

    >>> good_end(["FAIL", "Accept"]), good_end(["bad", "so-so"]), good_end(["red", "blue"])
    ('Accept', 'so-so', None)
    """
    if "A" in names and all(len(name) == 1 for name in names):
        return "A"          # grades of a school
    sides = {name: _side(name) for name in names}
    good = [name for name, side in sides.items() if side == "good"]
    fair = [name for name, side in sides.items() if side != "bad"]
    sure = good if good else fair if len(fair) < len(names) else []
    return sure[0] if len(sure) == 1 else None


def _side(name: str) -> Literal["good", "bad"] | None:
    """What the words of a name say: `not good` is bad, and `no hallucination` good."""
    words = set(re.split(r"[^a-z]+", name.casefold()))
    good, bad = bool(words & _GOOD), bool(words & _BAD)
    if words & _NEGATIONS:
        return "good" if bad and not good else "bad"
    return None if good == bad else "good" if good else "bad"


NOBODY_SAID = Scale(
    type=pa.float64(), labels={"grades": [0, 1]}, measures=("mean",), of_prediction=("mae", "bias"),
    asks="People see a response and answer 1 if it is right, else 0.", half_width=0.05,
)
"""What is asked where nothing predicts a label: a rate of classes needs a column that does."""
