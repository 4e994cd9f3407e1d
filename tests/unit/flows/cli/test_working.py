"""Progress: on a terminal what is done, how much of it, and what remains; nothing in a file or a pipe."""

import os
import pty
import sys
from contextlib import suppress

from assay.flows.cli.output import working


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
    said = b""
    with suppress(OSError):     # the end of a terminal that nobody holds any more
        while more := os.read(ours, 65536):
            said += more
    os.close(ours)
    assert b"rounds recomputed" in said
    assert b"3/12" in said
    assert b"-:--:--" in said     # what remains; known once two steps were done
