"""ACIS and the baselines its paper compares with, each with its settings."""

from evalcore.methods.acis import Acis
from evalcore.methods.base import Method
from evalcore.methods.calibrated import Isotonic, Platt
from evalcore.methods.gmm import GaussianMixture
from evalcore.methods.herding import Herding
from evalcore.methods.topk import TopK

LOW_SHOT: tuple[Method, ...] = (Acis(), TopK(), GaussianMixture(), Herding(), Isotonic(), Platt())
