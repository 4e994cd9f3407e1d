"""ACIS and the baselines its paper compares with, and the two samples of the recycled-samples paper."""

from evalcore.methods.acis import Acis
from evalcore.methods.base import Method
from evalcore.methods.calibrated import Isotonic, Platt
from evalcore.methods.gmm import GaussianMixture
from evalcore.methods.herding import Herding
from evalcore.methods.recycled import Recycled
from evalcore.methods.topk import TopK

LOW_SHOT: tuple[Method, ...] = (
    Acis(),
    TopK(),
    GaussianMixture(),
    Herding(),
    Isotonic(),
    Platt(),
    Recycled(),
)
