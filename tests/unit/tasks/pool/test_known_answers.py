"""The gold file: what is read, what is refused, and what is kept."""

import pytest
from doubles.small_pool import spec_json, write_small_pool

from assay.evalcore.errors import BadInput
from assay.tasks.ledger import layout
from assay.tasks.ledger.record import DamagedRecord, Ledger
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.pool.known_answers import freeze_gold, load_gold
from assay.tasks.spec.evaluation import Spec


def a_spec(folder, text):
    predictions, labels = write_small_pool(folder, n=20)
    path = folder / "gold.csv"
    path.write_text(text)
    desk = {"kind": "simulated", "labels": str(labels), "gold": {"labels": str(path)}}
    return Spec.from_json(spec_json(predictions, labels, desk=desk))


def test_gold_is_kept_as_people_will_see_it(tmp_path):
    spec, store = a_spec(tmp_path, "item_id,label,text,secret\nb,0,two,x\na,match,one,y\n"), MemoryStore()
    digest = freeze_gold(spec, store)
    gold = load_gold(Ledger(store, spec.name), digest)
    assert {name: (item.label, dict(item.shown)) for name, item in gold.items()} == {
        "a": (1, {"text": "one"}), "b": (0, {"text": "two"})
    }   # the secret column is not displayed, and not kept
    assert load_gold(Ledger(store, spec.name), None) == {}


@pytest.mark.parametrize(("text", "said"), [
    ("item_id,label,text\n", "has no rows"),
    ("item_id,label,text\na,maybe,one\n", "'maybe' is none of the classes"),
    ("item_id,label,text\na,,one\n", "no label for 'a'"),
    ("item_id,label,text\n,match,one\n", "a row has no id"),
    ("item_id,label,text\na,match,one\na,match,one\n", "item 'a' is there twice"),
    ("item_id,label\na,match\n", "text"),
])
def test_bad_gold_is_refused_by_name(tmp_path, text, said):
    with pytest.raises(BadInput) as caught:
        freeze_gold(a_spec(tmp_path, text), MemoryStore())
    assert said in str(caught.value)
    assert "gold" in str(caught.value)


def test_altered_gold_is_damage(tmp_path):
    spec, store = a_spec(tmp_path, "item_id,label,text\na,match,one\n"), MemoryStore()
    digest = freeze_gold(spec, store)
    store._values[layout.gold(spec.name, digest)] += b" "
    with pytest.raises(DamagedRecord, match="restore this key"):
        load_gold(Ledger(store, spec.name), digest)
