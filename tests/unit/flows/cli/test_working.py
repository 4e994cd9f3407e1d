"""Progress: on a terminal what is done, how much of it, and what remains; nothing in a file or a pipe."""

import os
import pty
import sys

from assay.flows.cli.working import working


def test_a_pipe_gets_nothing(capsys):
    with working("reading") as tell:
        tell("rounds recomputed", 3, 12)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_shows_what_is_done_and_how_much_remains(monkeypatch):
    ours, theirs = pty.openpty()
    monkeypatch.setenv("TERM", "xterm")
    with os.fdopen(theirs, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with working("verifying small") as tell:
            tell("rounds recomputed", 3, 12)
        said = os.read(ours, 65536).decode()
    os.close(ours)
    assert "rounds recomputed" in said
    assert "3/12" in said
    assert "-:--:--" in said     # what remains; known once two steps were done
