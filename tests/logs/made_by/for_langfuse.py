"""Observations of Langfuse, as its own client reads them, and the same as traces with details.

    python tests/logs/made_by/for_langfuse.py FOLDER

The server of Langfuse does not run here.  The package checks and writes every observation; the traces are
written by the documented form of the interface (`GET /api/public/traces/ID`).
"""

import json
import sys
from datetime import datetime, timedelta
from pathlib import Path

from langfuse.api import ObservationV2
from traced_agent import NUMBERS, answer, conversation, question

BEGAN = datetime.fromisoformat("2026-11-20T10:00:00+00:00")


def observations(i):
    """An agent, its model twice, and its tool."""
    given = conversation(i)
    steps = [
        ("AGENT", "agent", {"messages": given[:2]}, answer(i), None),
        ("GENERATION", "first", given[:2], given[2], "made-small"),
        ("TOOL", "double", {"n": i}, str(2 * i), None),
        ("GENERATION", "last", given, {"role": "assistant", "content": answer(i)}, "made-small"),
    ]
    for number, (kind, name, said, heard, model) in enumerate(steps):
        yield ObservationV2(
            id=f"span-{i}-{number}", trace_id=f"trace-{i}", project_id="made", type=kind, name=name,
            parent_observation_id=None if number == 0 else f"span-{i}-0",
            start_time=BEGAN + timedelta(minutes=i, seconds=number),
            end_time=BEGAN + timedelta(minutes=i, seconds=number + 1),
            input=said, output=heard, model=model, level="DEFAULT", session_id=f"talk-{i % 2}",
        )


def scores(i):
    """Of an evaluator, and of a person for every second trace."""
    right = float(str(2 * i) in answer(i))
    told = [{"id": f"score-{i}", "traceId": f"trace-{i}", "name": "right", "value": right,
             "dataType": "NUMERIC", "source": "EVAL", "comment": "looked for the number"}]
    if i % 2 == 0:
        told.append({"id": f"person-{i}", "traceId": f"trace-{i}", "name": "correct", "value": right,
                     "dataType": "BOOLEAN", "stringValue": str(bool(right)), "source": "ANNOTATION"})
    return told


def main(to):
    """A line for each observation, and a list of traces."""
    to.mkdir(parents=True, exist_ok=True)
    written = {i: [json.loads(one.json()) for one in observations(i)] for i in NUMBERS}
    (to / "observations.jsonl").write_text("".join(
        json.dumps(one) + "\n" for several in written.values() for one in several
    ))
    (to / "traces.json").write_text(json.dumps([
        {"id": f"trace-{i}", "timestamp": (BEGAN + timedelta(minutes=i)).isoformat(), "name": "agent",
         "input": question(i), "output": answer(i), "sessionId": f"talk-{i % 2}", "projectId": "made",
         "metadata": {"topic": "even" if i % 2 == 0 else "odd"}, "tags": [], "observations": several,
         "scores": scores(i)}
        for i, several in written.items()
    ]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
