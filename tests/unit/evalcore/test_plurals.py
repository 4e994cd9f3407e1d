import pytest

from assay.evalcore.errors import plural


@pytest.mark.parametrize(("n", "said"), [
    (0, "0 labels"), (1, "1 label"), (2, "2 labels"), (1200, "1,200 labels"),
])
def test_only_one_is_singular(n: int, said: str):
    assert plural(n, "label") == said


def test_a_plural_may_be_given():
    assert (plural(1, "copy", "copies"), plural(3, "copy", "copies")) == ("1 copy", "3 copies")
