"""The publications that methods and intervals come from, by the key under which papers cite them.

What is not known for certain is left out: an entry without authors or a DOI is completed from its title.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedWork:
    """One publication that methods or intervals come from, with what a citation needs. Fields that are not
    known for certain stay empty, and are completed from the title."""

    form: Literal["article", "inproceedings", "incollection", "book", "misc"]
    title: str
    authors: tuple[str, ...] = ()    # "Family, Given"
    year: int
    within: str = ""                 # the journal or book that it is in, or the publisher of a book
    volume: str = ""
    pages: str = ""
    doi: str = ""
    arxiv: str = ""


_MARCHANT = ("Marchant, Neil G.", "Rubinstein, Benjamin I. P.")
_RAMDAS, _RAINFORTH, _ZRNIC = "Ramdas, Aaditya", "Rainforth, Tom", "Zrnic, Tijana"
_NIPS = "Advances in Neural Information Processing Systems"
_ICML = "International Conference on Machine Learning"

LITERATURE: Mapping[str, CitedWork] = {
    "angelopoulos2023": CitedWork(
        form="misc", title="PPI++: Efficient Prediction-Powered Inference", year=2023, arxiv="2311.01453",
        authors=("Angelopoulos, Anastasios N.", "Duchi, John C.", _ZRNIC),
    ),
    "cochran1977": CitedWork(
        form="book", title="Sampling Techniques", authors=("Cochran, William G.",), year=1977,
        within="John Wiley & Sons",
    ),
    "farquhar2021": CitedWork(
        form="inproceedings", year=2021,
        title="On Statistical Bias In Active Learning: How and When To Fix It",
        authors=("Farquhar, Sebastian", "Gal, Yarin", _RAINFORTH),
        within="International Conference on Learning Representations",
    ),
    "fisch2024": CitedWork(
        form="misc", year=2024, arxiv="2406.04291",
        title="Stratified Prediction-Powered Inference for Hybrid Language Model Evaluation",
        authors=("Fisch, Adam", "Maynez, Joshua", "Hofer, R. Alex", "Dhingra, Bhuwan", "Globerson, Amir",
                 "Cohen, William W."),
    ),
    "fogliato2024": CitedWork(
        form="misc", year=2024,
        title="A Framework for Efficient Model Evaluation through Stratification, Sampling, and Estimation",
        authors=("Fogliato, Riccardo", "Patil, Pratik", "Monfort, Mathew", "Perona, Pietro"),
    ),
    "kluger2025": CitedWork(
        form="misc", year=2025, arxiv="2501.18577",
        title="Prediction-Powered Inference with Imputed Covariates and Nonuniform Sampling",
        authors=("Kluger, Dan M.", "Lu, Kerri", _ZRNIC, "Wang, Sherrie", "Bates, Stephen"),
    ),
    "kossen2021": CitedWork(
        form="inproceedings", year=2021, within=_ICML,
        title="Active Testing: Sample-Efficient Model Evaluation",
        authors=("Kossen, Jannik", "Farquhar, Sebastian", "Gal, Yarin", _RAINFORTH),
    ),
    "marchant2017": CitedWork(
        form="article", authors=_MARCHANT, year=2017, within="Proceedings of the VLDB Endowment",
        title="In Search of an Entity Resolution OASIS: Optimal Asymptotic Sequential Importance Sampling",
        volume="10", pages="1322--1333",
    ),
    "marchant2021": CitedWork(
        form="inproceedings", authors=_MARCHANT, year=2021, pages="1180--1190", doi="10.1145/3447548.3467435",
        title="Needle in a Haystack: Label-Efficient Evaluation under Extreme Class Imbalance",
        within="Proceedings of the ACM SIGKDD Conference on Knowledge Discovery and Data Mining",
    ),
    "miller2018": CitedWork(
        form="inproceedings", year=2018, within="International Workshop on Cost-Sensitive Learning",
        title="Classifier Performance Estimation with Unbalanced, Partially Labeled Data",
        authors=("Miller, Benjamin A.", "Vila, Jeremy", "Kirn, Malina", "Zipkin, Joseph R."),
    ),
    "platt1999": CitedWork(
        form="incollection", authors=("Platt, John C.",), year=1999,
        title="Probabilistic Outputs for Support Vector Machines and Comparisons to Regularized Likelihood "
              "Methods",
        within="Advances in Large Margin Classifiers",
    ),
    "poms2021": CitedWork(
        form="inproceedings", year=2021, pages="10705--10714",
        title="Low-Shot Validation: Active Importance Sampling for Estimating Classifier Performance on Rare "
              "Categories",
        authors=("Poms, Fait", "Sarukkai, Vishnu", "Mullapudi, Ravi Teja", "Sohoni, Nimit S.",
                 "Mark, William R.", "Ramanan, Deva", "Fatahalian, Kayvon"),
        within="Proceedings of the IEEE/CVF International Conference on Computer Vision",
    ),
    "recycled2020": CitedWork(
        form="inproceedings", year=2020, doi="10.1007/978-3-030-67667-4_15",
        title="Estimating Precisions for Multiple Binary Classifiers Under Limited Samples",
        within="Machine Learning and Knowledge Discovery in Databases: Applied Data Science Track",
    ),
    "sarndal1992": CitedWork(
        form="book", title="Model Assisted Survey Sampling", year=1992, within="Springer",
        authors=("Särndal, Carl-Erik", "Swensson, Bengt", "Wretman, Jan"),
    ),
    "sawade2010": CitedWork(
        form="inproceedings", title="Active Estimation of F-Measures", year=2010, within=_NIPS,
        authors=("Sawade, Christoph", "Landwehr, Niels", "Scheffer, Tobias"), pages="2083--2091",
    ),
    "shekhar2023": CitedWork(
        form="inproceedings", year=2023, within="Uncertainty in Artificial Intelligence",
        title="Risk-limiting Financial Audits via Weighted Sampling without Replacement",
        authors=("Shekhar, Shubhanshu", "Xu, Ziyu", "Lipton, Zachary C.", "Liang, Pierre J.", _RAMDAS),
    ),
    "waudbysmith2020": CitedWork(
        form="inproceedings", title="Confidence Sequences for Sampling Without Replacement", year=2020,
        authors=("Waudby-Smith, Ian", _RAMDAS), within=_NIPS,
    ),
    "welling2009": CitedWork(
        form="inproceedings", title="Herding Dynamical Weights to Learn", year=2009, within=_ICML,
        authors=("Welling, Max",),
    ),
    "yilmaz2021": CitedWork(
        form="misc", title="Sample Efficient Model Evaluation", year=2021, arxiv="2109.12043",
        authors=("Yilmaz, Emine", "Hayes, Peter", "Habib, Raza", "Burgess, Jordan", "Barber, David"),
    ),
    "zadrozny2002": CitedWork(
        form="inproceedings", authors=("Zadrozny, Bianca", "Elkan, Charles"), year=2002,
        title="Transforming Classifier Scores into Accurate Multiclass Probability Estimates",
        within="Proceedings of the ACM SIGKDD Conference on Knowledge Discovery and Data Mining",
    ),
    "zrnic2024": CitedWork(
        form="inproceedings", title="Active Statistical Inference", authors=(_ZRNIC, "Candès, Emmanuel J."),
        year=2024, within=_ICML,
    ),
}
# Intervals that have a source of their own, by their kind.
OF_INTERVALS: Mapping[str, tuple[str, ...]] = {"guaranteed": ("waudbysmith2020",)}
