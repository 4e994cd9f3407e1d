"""Which of several alarms to believe, worked by hand."""

import numpy as np

from assay.evalcore.monitoring.verdicts import called_out


def test_e_bh_calls_out_more_than_bonferroni_and_never_less():
    # four segments at 0.05: one alone needs 80, two together 40
    logs = np.log([45, 41, 3, 1])
    assert called_out(logs, 0.05, "e-bh").tolist() == [True, True, False, False]
    assert called_out(logs, 0.05, "bonferroni").tolist() == [False] * 4
    assert called_out(np.log([81, 1, 1, 1]), 0.05, "bonferroni").tolist() == [True, False, False, False]
    assert called_out([], 0.05, "e-bh").tolist() == []
