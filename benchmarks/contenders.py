"""The methods that certifications run: what `auto` chooses between, and published ones beside."""

from dataclasses import replace

from assay.evalcore.methods.registry import method
from assay.evalcore.methods.two_classes.base import CountingMethod
from assay.evalcore.methods.two_classes.fixed_proposal import StaticIS
from assay.evalcore.methods.two_classes.recalibrated import Recalibrated

# what `auto` reports of one class against the rest: trusting nothing but labels, and trusting the score
SUBJECTS = ("score-test", "recalibrated")
DEFENSIVE = "static-is, 10% even"   # the supplied probabilities, with a tenth of the draws spread evenly
# the published method of smallest error is chosen among these
UNBIASED = ("passive", "dirichlet-tree", DEFENSIVE, "static-is", "sawade", "bernoulli", "oasis")
# and the one with the fewest labels to a half-width among those and these
NARROW = ("stratified-neyman", "optimal-is", "bernoulli-online")
REPORT_DRAWS = 600           # a live report takes 2,000: slower, and less noisy than what is certified


def contender(name: str) -> CountingMethod:
    """The method as it is run.  Raises UnknownName and BadInput as the registry does."""
    how = StaticIS(name=DEFENSIVE, epsilon=0.1) if name == DEFENSIVE else method(name)
    return replace(how, report_draws=REPORT_DRAWS) if isinstance(how, Recalibrated) else how
