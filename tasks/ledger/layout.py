"""The names of the ledger's keys: the one place that spells them.

Keys of an evaluation start with its name and a slash; `index/` beside them is no evidence and can be rebuilt;
`desks/` is no evidence either, but the memory of desks that have no server of their own.
A round is written with four digits (or more, from round 10,000 on), so keys sort by round for as long as
anybody will ask.
"""

import re
from hashlib import sha256

from assay.evalcore.errors import BadInput

OPEN_PREFIX = "index/open/"
ALERTS_PREFIX = "index/alerts/"
MONITORS_PREFIX = "monitors/"
DESKS_PREFIX = "desks/"
_RESERVED = ("index", "monitors", "desks")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def check_name(name: str) -> str:
    """The name itself, if it can name an evaluation: it becomes a folder, a project and an artifact's key.

    Raises BadInput otherwise.
    """
    if not is_name(name):
        raise BadInput(
            f"{name!r} cannot be the name of an evaluation: use 1 to 100 letters, digits, dots, dashes and "
            f"underscores, beginning with a letter or digit (and not the words {', '.join(_RESERVED)})"
        )
    return name


def is_name(name: str) -> bool:
    """Whether this can be the name of an evaluation or a monitor."""
    return name not in _RESERVED and bool(_NAME.fullmatch(name))


def digest(blob: bytes) -> str:
    """The SHA-256 of some bytes, as 64 hexadecimal digits."""
    return sha256(blob).hexdigest()


def spec(evaluation: str) -> str:
    """What was asked."""
    return f"{evaluation}/spec.json"


def manifest(evaluation: str) -> str:
    """The frozen pool's summary; its presence means that the evaluation has begun."""
    return f"{evaluation}/pool/manifest.json"


def pool_part(evaluation: str, part: int, digest: str) -> str:
    """Frozen rows. The digest is that of the bytes: what an aborted freeze left cannot pass for a part."""
    return f"{evaluation}/pool/part-{part:05d}-{digest[:16]}.parquet"


def pool_sources(evaluation: str) -> str:
    """The files the pool was read from, with their versions: beside the record, never compared."""
    return f"{evaluation}/pool/sources.json"


def inherited(evaluation: str, digest: str) -> str:
    """Labels of earlier evaluations that this one starts from; the digest is that of the bytes."""
    return f"{evaluation}/inherited-{digest[:16]}.parquet"


def gold(evaluation: str, digest: str) -> str:
    """Items of known answer, under the digest of their bytes."""
    return f"{evaluation}/gold/{digest}.json"


def partition(evaluation: str, digest: str) -> str:
    """Strata edges and cells."""
    return f"{evaluation}/partitions/{digest}.json"


def partition_rows(evaluation: str, digest: str) -> str:
    """Which rows the cells hold."""
    return f"{evaluation}/partitions/{digest}.rows"


def round_folder(evaluation: str, round: int) -> str:
    """The prefix of everything a round wrote, slash included."""
    return f"{evaluation}/rounds/{round:04d}/"


def plan(evaluation: str, round: int) -> str:
    """The draws of a round; written before anyone is asked."""
    return round_folder(evaluation, round) + "plan.parquet"


def design(evaluation: str, round: int) -> str:
    """The probabilities of a round, by cell."""
    return round_folder(evaluation, round) + "design.parquet"


def post(evaluation: str, round: int, attempt: int) -> str:
    """One attempt to post a round's items; whoever creates the key makes the attempt."""
    return round_folder(evaluation, round) + f"posts/{attempt:04d}.json"


def posts(evaluation: str, round: int) -> str:
    """The prefix of a round's posts."""
    return round_folder(evaluation, round) + "posts/"


def annotation(evaluation: str, round: int, digest: str) -> str:
    """One raw answer."""
    return round_folder(evaluation, round) + f"annotations/{digest}.json"


def annotations(evaluation: str, round: int) -> str:
    """The prefix of a round's raw answers."""
    return round_folder(evaluation, round) + "annotations/"


def closing(evaluation: str, round: int) -> str:
    """The decision to close a round although items are unanswered."""
    return round_folder(evaluation, round) + "closing.json"


def revisions(evaluation: str) -> str:
    """The prefix of everything about labels that changed after their rounds were closed."""
    return f"{evaluation}/revisions/"


def revision_labels(evaluation: str, revision: int) -> str:
    """The labels a revision changed; its presence makes the revision."""
    return revisions(evaluation) + f"{revision:04d}/labels.parquet"


def revision_estimate(evaluation: str, revision: int) -> str:
    """The estimates reissued."""
    return revisions(evaluation) + f"{revision:04d}/estimate.json"


def revision_annotators(evaluation: str, revision: int) -> str:
    """How the people do by the answers of a revision."""
    return revisions(evaluation) + f"{revision:04d}/annotators.json"


def revision_seal(evaluation: str, revision: int) -> str:
    """Digests of what a revision rests on, chained to the seals before."""
    return revisions(evaluation) + f"{revision:04d}/seal.json"


def labels(evaluation: str, round: int) -> str:
    """What was decided about the items asked; closes the round."""
    return round_folder(evaluation, round) + "labels.parquet"


def estimate(evaluation: str, round: int) -> str:
    """The estimates after a round."""
    return round_folder(evaluation, round) + "estimate.json"


def annotators(evaluation: str, round: int) -> str:
    """How the people who labelled did so far, and what their errors do to the estimates of a round."""
    return round_folder(evaluation, round) + "annotators.json"


def seal(evaluation: str, round: int) -> str:
    """Digests of what a closed round rests on, chained to the round before."""
    return round_folder(evaluation, round) + "seal.json"


def final_seal(evaluation: str) -> str:
    """Digests of the outcome and of the last round's seal."""
    return f"{evaluation}/seal.json"


def arrived(evaluation: str, round: int, attempt: int) -> str:
    """Marks that everything a post carried was seen on the desk."""
    return round_folder(evaluation, round) + f"posts/{attempt:04d}.arrived.json"


def times(evaluation: str, round: int) -> str:
    """When a round was closed: beside the record, never compared."""
    return round_folder(evaluation, round) + "times.json"


def identity(evaluation: str) -> str:
    """A random word that tells this evaluation from its namesakes in other ledgers; never compared."""
    return f"{evaluation}/identity.json"


def begun(evaluation: str) -> str:
    """When the evaluation began: beside the record, never compared."""
    return f"{evaluation}/times.json"


def outcome(evaluation: str) -> str:
    """Why the evaluation stopped."""
    return f"{evaluation}/outcome.json"


def open_index(evaluation: str) -> str:
    """Marks an evaluation that has begun and not stopped."""
    return OPEN_PREFIX + evaluation


def alerts(owner: str) -> str:
    """The prefix of an owner's outbox. The owner is an evaluation, or a monitor (`monitors/<name>`)."""
    return f"{owner}/alerts/"


def alert(owner: str, key: str) -> str:
    """What is to be told, once."""
    return alerts(owner) + f"{key}.json"


def alert_try(owner: str, key: str, channel: str, attempt: int) -> str:
    """One attempt to tell a channel; whoever creates the key makes the attempt."""
    return alerts(owner) + f"{key}.tries/{channel}.{attempt:04d}.json"


def alert_failed(owner: str, key: str, channel: str, attempt: int) -> str:
    """Marks an attempt that is known to have failed."""
    return alerts(owner) + f"{key}.tries/{channel}.{attempt:04d}.failed.json"


def alert_tries(owner: str, key: str) -> str:
    """The prefix of an alert's attempts."""
    return alerts(owner) + f"{key}.tries/"


def alert_sent(owner: str, key: str, channel: str) -> str:
    """Settles an alert for a channel: told, or why not."""
    return alerts(owner) + f"{key}.sent/{channel}.json"


def alert_index(owner: str, key: str) -> str:
    """Marks an alert that some channel may still have to be told. No name has a `+`: no key holds another."""
    return ALERTS_PREFIX + f"{owner.replace('/', '+')}+{key}"


def monitor(name: str) -> str:
    """A monitor as the owner of its keys: the name of its ledger. `spec` spells the key of its spec too."""
    return MONITORS_PREFIX + name


def monitor_opening(owner: str, window: str, number: int) -> str:
    """One evaluation that a monitor opened for a window: its first, a follow-up, or one of a revision."""
    return f"{monitor_windows(owner)}{window}/openings/{number:04d}.json"


def monitor_windows(owner: str) -> str:
    """The prefix of all windows of a monitor."""
    return f"{owner}/windows/"


def monitor_verdict(owner: str, number: int) -> str:
    """One verdict, numbered over the life of the monitor in the order they were given."""
    return f"{monitor_verdicts(owner)}{number:06d}.json"


def monitor_verdicts(owner: str) -> str:
    """The prefix of a monitor's verdicts."""
    return f"{owner}/verdicts/"
