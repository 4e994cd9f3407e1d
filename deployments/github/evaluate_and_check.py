"""What the action does: begin or go on with an evaluation, check it, and tell the pull request.

Everything is asked for by variables of the environment, ASSAY_ACTION_NAME and so on, as `action.yml` sets
them; what GitHub sets (GITHUB_EVENT_PATH, GITHUB_STEP_SUMMARY …) is optional, so the same file serves other
pipelines and containers.  The exit code is that of `assay check`, unless it is among those that are accepted.
"""

import http.client
import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

_NOT_WRONG = (0, 3, 4, 5)      # exit codes of `run` that leave the verdict to `check`
_A_PAGE = 100                  # comments
_LONGEST = 60_000              # characters; a comment has 65,536


def main() -> int:
    """Run and check; returns the exit code of the job."""
    name, store = _asked("NAME"), _asked("STORE")
    if not name:
        sys.stderr.write("assay: name the evaluation: the input `name`, or ASSAY_ACTION_NAME\n")
        return 2
    where = ["--store", store] if store else []
    code, table = 0, ""
    if spec := _asked("SPEC"):
        code, table = _assay("run", f"--name={name}", "--wait", "0", *where, "--", spec)
    if code in _NOT_WRONG:
        given = {option: _asked(option.upper()) for option in ("measure", "min", "max", "baseline", "source")}
        options = [part for option, value in given.items() if value for part in (f"--{option}", value)]
        code, table = _assay("check", "--markdown", *options, *where, "--", name)
    text = table if code in _NOT_WRONG else _not_checked(name, table)
    sys.stdout.write(f"{text}\n")
    _append("GITHUB_STEP_SUMMARY", f"{text}\n")
    _append("GITHUB_OUTPUT", f"exit-code={code}\n")
    if _asked("COMMENT") == "true":
        _comment(name, text)
    return 0 if str(code) in _asked("ACCEPT").replace(",", " ").split() else code


def _asked(name: str) -> str:
    return os.environ.get(f"ASSAY_ACTION_{name}", "").strip()


def _assay(*command: str) -> tuple[int, str]:
    """The exit code of a command of Assay, and what it printed; of one that failed, why."""
    words = [sys.executable, "-P", "-m", "assay", *command]     # -P: nothing that is checked out is imported
    others = {name: value for name, value in os.environ.items() if name != "GITHUB_TOKEN"}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=others)  # noqa: S603 - no shell
    sys.stderr.write(done.stderr)
    said = done.stdout if done.returncode in _NOT_WRONG else done.stderr or done.stdout
    return done.returncode, said.strip()


def _append(variable: str, text: str) -> None:
    if path := os.environ.get(variable):
        with Path(path).open("a", encoding="utf-8") as opened:
            opened.write(text)


def _comment(name: str, text: str) -> None:
    """Write the comment of this evaluation on the pull request, or replace it; a refusal is a warning.

    Nothing where the event is none of a pull request.
    """
    event, repository = os.environ.get("GITHUB_EVENT_PATH"), os.environ.get("GITHUB_REPOSITORY")
    happened = json.loads(Path(event).read_text(encoding="utf-8")) if event else {}
    number = (happened.get("pull_request") or {}).get("number")
    if number is None or not repository:
        return
    mark = f"<!-- assay {name} -->"
    comments = f"/repos/{repository}/issues/{number}/comments"
    try:
        there, page = None, 1
        while there is None:
            some = _asked_of_github("GET", f"{comments}?per_page={_A_PAGE}&page={page}")
            there = next((one["id"] for one in some if _is_ours(one, mark)), None)
            if len(some) < _A_PAGE:
                break
            page += 1
        body = {"body": f"{mark}\n{text}\n"}
        if there is None:
            _asked_of_github("POST", comments, body)
        else:
            _asked_of_github("PATCH", f"/repos/{repository}/issues/comments/{there}", body)
    except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
        sys.stdout.write(
            f"::warning::the table could not be put on the pull request ({error}); give the job the "
            "permission pull-requests: write; pull requests from forks cannot have it\n"
        )


def _is_ours(comment: dict[str, Any], mark: str) -> bool:
    """Whether a comment has this mark and is by a program: a person could edit it later."""
    is_program = (comment.get("user") or {}).get("type") == "Bot"
    return is_program and (comment.get("body") or "").startswith(mark)


def _not_checked(name: str, why: str) -> str:
    """Why, in a block of code that it cannot end."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", why)), default=0))
    return f"**{name}** could not be checked.\n\n{fence}\n{why[:_LONGEST]}\n{fence}"


def _asked_of_github(method: str, path: str, body: dict[str, str] | None = None) -> Any:
    request = urllib.request.Request(  # noqa: S310 - GitHub's own address
        os.environ.get("GITHUB_API_URL", "https://api.github.com") + path, method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {os.environ.get('GITHUB_TOKEN', '')}",
            "Accept": "application/vnd.github+json", "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
        return json.load(answer)


if __name__ == "__main__":
    sys.exit(main())
