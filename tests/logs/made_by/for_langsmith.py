"""Runs of LangSmith, recorded by its own package and written as its client lists them.

    python tests/logs/made_by/for_langsmith.py FOLDER

Its server does not run here: what the package would send is read as the runs that its client returns.
"""

import json
import sys
from pathlib import Path
from unittest.mock import MagicMock

from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langsmith import Client, schemas, traceable
from langsmith.run_helpers import get_current_run_tree, tracing_context
from traced_agent import NUMBERS, answer, question

KEPT = []


def keep():
    """The run that is under way."""
    KEPT.append(get_current_run_tree())


@traceable(run_type="llm", name="ChatMade", metadata={"ls_model_name": "made-small", "ls_provider": "made"})
def model(messages):
    """As LangChain records a model: messages in, generations out."""
    keep()
    i = int("".join(c for c in messages[0][1]["kwargs"]["content"] if c.isdigit()))
    said = AIMessage(answer(i)) if len(messages[0]) > 2 else AIMessage("", tool_calls=[
        {"name": "double", "args": {"n": i}, "id": f"call_{i}"}])
    return {"generations": [[{"text": said.content, "type": "ChatGeneration", "message": dumpd(said)}]]}


@traceable(run_type="tool", name="double")
def double(n):
    """Twice a number."""
    keep()
    return str(2 * n)


@traceable(run_type="chain", name="agent", metadata={"topic": "sums"})
def agent(question):
    """The model, its tool, the model."""
    keep()
    i = int("".join(c for c in question if c.isdigit()))
    said = [SystemMessage("You double numbers."), HumanMessage(question)]
    model(messages=[[dumpd(one) for one in said]])
    said += [AIMessage("", tool_calls=[{"name": "double", "args": {"n": i}, "id": f"call_{i}"}]),
             ToolMessage(double(n=i), tool_call_id=f"call_{i}", name="double")]
    found = model(messages=[[dumpd(one) for one in said]])
    return found["generations"][0][0]["text"]


def main(to):
    """All runs, one a line."""
    to.mkdir(parents=True, exist_ok=True)
    client = Client(session=MagicMock(), api_key="none", auto_batch_tracing=False)
    lines = []
    with tracing_context(enabled=True, client=client):
        for i in NUMBERS:
            KEPT.clear()
            agent(question=question(i))
            for tree in KEPT:
                told = {name: getattr(tree, name) for name in schemas.Run.model_fields if hasattr(tree, name)}
                told |= {"trace_id": tree.trace_id, "dotted_order": tree.dotted_order, "child_runs": None,
                         "parent_run_id": tree.parent_run_id}
                if tree.parent_run_id is None:
                    right = float(str(2 * i) in answer(i))
                    told["feedback_stats"] = {"right": {"n": 1, "avg": right, "values": {}}}
                told["extra"] = {"metadata": tree.extra["metadata"]}        # not what machine it was
                run = schemas.Run(**told)
                lines.append(run.model_dump_json(exclude={"child_runs", "serialized", "events"}))
    assert len(lines) == 4 * len(NUMBERS)
    assert json.loads(lines[0])["outputs"], lines[0]
    (to / "runs.jsonl").write_text("".join(line + "\n" for line in lines))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
