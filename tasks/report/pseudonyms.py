"""Names of people in a report: made for it, so that nobody can look them up at the desk.

A name is a digest of the desk's name of the person and of the evaluation's own random word, so the same
person has one name in an evaluation and another one in the next.
"""

from dataclasses import replace
from hashlib import sha256

from assay.evalcore.annotators.quality import AnnotatorQuality


def pseudonymous(quality: AnnotatorQuality, salt: str) -> AnnotatorQuality:
    """The same with everybody's name replaced, and in the order of the new names."""
    def name(annotator: str) -> str:
        return "person-" + sha256(f"{len(salt)}:{salt}:{annotator}".encode()).hexdigest()[:8]

    people = [replace(person, annotator=name(person.annotator)) for person in quality.people]
    return replace(
        quality,
        people=tuple(sorted(people, key=lambda person: person.annotator)),
        agreement=tuple(replace(a, between=tuple(name(who) for who in a.between)) for a in quality.agreement),
    )
