"""A dataset that Hugging Face datasets saved, and what becomes of it."""

import shutil

import pyarrow.parquet as pq
import pytest
import yaml
from services.logs import LOGS

from assay.evalcore.errors import BadInput
from assay.flows.connectors import bring_in


def test_splits_are_a_column_and_class_labels_have_names(tmp_path):
    found = bring_in([LOGS / "datasets"], tmp_path / "pool.parquet")
    rows = pq.read_table(tmp_path / "pool.parquet").to_pylist()
    assert len(rows) == found.written.rows == 60
    assert [row["item_id"] for row in rows] == [str(i) for i in range(60)]
    # 3 has no label, which datasets write as -1; multiples of 4 are spam
    assert [rows[i]["label"] for i in (3, 4, 5)] == [None, "spam", "ham"]
    assert [rows[i]["split"] for i in (39, 40)] == ["train", "test"]
    assert "picture" not in rows[0]
    assert found.notes == ("not imported: the column 'picture', which holds media (image)",)
    pool = yaml.safe_load(found.spec)["pool"]
    assert (pool["id"], pool["prediction"], pool["segments"]) == ("item_id", "prediction", ["split"])


def test_one_split_has_no_column_for_it(tmp_path):
    found = bring_in([LOGS / "datasets/test"], tmp_path / "pool.parquet")
    assert found.written.columns == ("item_id", "text", "label", "prediction", "probability")
    assert found.written.rows == 20


def test_a_file_that_is_cut_off_is_named(tmp_path):
    shutil.copytree(LOGS / "datasets/test", tmp_path / "saved")
    [data] = (tmp_path / "saved").glob("*.arrow")
    data.write_bytes(data.read_bytes()[:1500])
    with pytest.raises(BadInput, match=r"arrow: is no sound Arrow file"):
        bring_in([tmp_path / "saved"], tmp_path / "pool.parquet")
    data.unlink()
    with pytest.raises(BadInput, match=r"arrow: is no sound Arrow file"):
        bring_in([tmp_path / "saved"], tmp_path / "pool.parquet")
