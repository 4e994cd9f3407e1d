"""Bodies are made once for each state of the ledger, and the least used are forgotten."""

import threading

from assay.flows.serve.home import Bodies, body_of


def test_a_body_is_made_again_only_when_the_digest_changed():
    made, bodies = [], Bodies()

    def make(text):
        return lambda: made.append(text) or text.encode()

    assert bodies.body("page", "1", make("a")) == body_of(b"a")
    assert bodies.body("page", "1", make("b")).content == b"a"
    assert bodies.body("page", "2", make("c")).content == b"c"
    assert made == ["a", "c"]
    assert bodies.size == 1


def test_memory_stays_below_its_bound():
    bodies = Bodies(limit=1000)
    for n in range(100):
        bodies.body(n, "1", lambda: b"x" * 100)
    assert bodies.size <= 1000
    made = []
    bodies.body(99, "1", lambda: made.append(1) or b"")
    assert not made


def test_those_who_ask_at_the_same_time_get_what_is_made_once():
    bodies, made, begin = Bodies(), [], threading.Barrier(8)

    def ask():
        begin.wait()
        bodies.body("page", "1", lambda: made.append(1) or b"x")

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert made == [1]
