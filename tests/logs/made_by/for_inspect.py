"""Logs of Inspect, made by the package itself with models that are functions: no network, no key.

    python tests/logs/made_by/for_inspect.py FOLDER
"""

import re
import shutil
import sys
from pathlib import Path

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelAPI, ModelOutput, get_model, modelapi
from inspect_ai.scorer import choice, includes, model_graded_qa
from inspect_ai.solver import generate, multiple_choice, use_tools
from inspect_ai.tool import tool

COLOURS = ("red", "green", "blue", "white")


@modelapi(name="made")
class Made(ModelAPI):
    """Answers from the number in the question; `small` is wrong more often than `large`."""

    async def generate(self, input, tools, tool_choice, config):
        """The response of the model, or of the grader."""
        text = "\n".join(message.text for message in input)
        number = int(re.search(r"(\d+)", text)[1])
        wrong = number % (3 if self.model_name == "small" else 7) == 0
        if tools and input[-1].role != "tool":
            return ModelOutput.for_tool_call(self.model_name, "double", {"n": number})
        if self.model_name == "grader":
            said = f"Compared with the reference. GRADE: {'P' if number % 8 == 5 else 'CI'[number % 3 == 0]}"
        elif "ANSWER: $LETTER" in text:
            said = f"ANSWER: {'ABCD'[(number + wrong) % 4]}"
        else:
            said = f"The answer is {2 * number + wrong}."
        return ModelOutput.from_content(self.model_name, said)

    async def count_text_tokens(self, text):
        """Without a vocabulary, which would be downloaded."""
        return len(text.split())


@tool
def double():
    """A tool that the agent has."""

    async def execute(n: int):
        """Twice a number.

        Args:
            n: the number
        """
        return str(2 * n)

    return execute


def sums(n):
    """Questions that have a number as the answer."""
    return MemoryDataset([
        Sample(id=f"sum-{i}", input=f"What is {i} + {i}?", target=str(2 * i),
               metadata={"topic": "even" if i % 2 == 0 else "odd", "steps": [1, 2]})
        for i in range(n)
    ], name="sums")


def colours(n):
    """Questions with four choices."""
    return MemoryDataset([
        Sample(id=i, input=f"Which colour has number {i}?", choices=list(COLOURS), target="ABCD"[i % 4])
        for i in range(n)
    ], name="colours")


def main(to):
    """An archive with two scorers and two repeats, JSON, two models on the same questions, and an agent."""
    to.mkdir(parents=True, exist_ok=True)
    grader = get_model("made/grader")
    quiet = {"display": "none", "log_samples": True, "log_dir": str(to / "new"), "log_realtime": False}
    graded = Task(dataset=sums(20), solver=generate(), name="sums", epochs=2,
                  scorer=[includes(), model_graded_qa(model=grader, partial_credit=True)])
    chosen = Task(dataset=colours(60), solver=multiple_choice(), scorer=choice(), name="colours")
    agent = Task(dataset=sums(6), solver=[use_tools(double()), generate()], scorer=includes(), name="agent")
    short = Task(dataset=sums(8), solver=generate(), scorer=includes(), name="sums")
    runs = {
        "sums.eval": (graded, "made/small", "eval"),
        "sums.json": (short, "made/small", "json"),
        "colours-small.eval": (chosen, "made/small", "eval"),
        "colours-large.eval": (chosen, "made/large", "eval"),
        "agent.json": (agent, "made/small", "json"),
    }
    for name, (task, model, format) in runs.items():
        [log] = eval(task, model=model, log_format=format, **quiet)
        assert log.status == "success", log.error
        shutil.move(log.location.removeprefix("file://"), to / name)
    shutil.rmtree(to / "new")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
