"""ACIS and the baselines its paper compares with, and the two samples of the recycled-samples paper."""

from assay.evalcore.methods.base import Method
from assay.evalcore.methods.low_shot.acis import Acis
from assay.evalcore.methods.low_shot.calibrated import Isotonic, Platt
from assay.evalcore.methods.low_shot.gmm import GaussianMixture
from assay.evalcore.methods.low_shot.herding import Herding
from assay.evalcore.methods.low_shot.topk import TopK
from assay.evalcore.methods.recycled import Recycled

LOW_SHOT: tuple[Method, ...] = (
    Acis(),
    TopK(),
    GaussianMixture(),
    Herding(),
    Isotonic(),
    Platt(),
    Recycled(),
)
