"""The caller's desk over HTTP: a program anywhere asks for the items that wait, and tells the answers.

    GET  /desks/<evaluation>/ask?annotator=NAME    what waits, as JSON; 304 with the ETag of the last reply
    POST /desks/<evaluation>/tell                  {"annotator": NAME, "answers": {item: answer}}
    GET  /desks/openapi.json                       both, described for programs

Each evaluation has a token of its own, `Authorization: Bearer ...`, which `assay desk-token NAME` prints: an
HMAC of the name with a key derived from the receiver's secret. Whoever has it may ask and tell for that
evaluation, and nothing else.

Answers are kept before the reply is sent, so a lost reply loses none: the request may be sent again. With the
same `Idempotency-Key` it then changes nothing, even where the answer was corrected in between. The evaluation
is advanced afterwards, by the same hint as a webhook's.
"""

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Literal, NoReturn, NotRequired, TypeAlias

from typing_extensions import TypedDict

from assay.evalcore.annotators.answers import AnswerKind
from assay.evalcore.annotators.question_answers import QuestionAnswers
from assay.evalcore.errors import AssayError, BadInput
from assay.evalcore.json_values import Json, JsonObject
from assay.flows.listen.seldom import out_of_order
from assay.flows.people.caller import by_side, caller_desk
from assay.flows.record.opened import open_evaluation
from assay.flows.record.standing import current_standing
from assay.tasks.desks.caller import Told
from assay.tasks.effects import retried
from assay.tasks.json_schema import schema_of
from assay.tasks.ledger import layout
from assay.tasks.ledger.layout import check_name
from assay.tasks.ledger.stores.store import Store
from assay.tasks.secrets import keyed_digest
from assay.tasks.spec.evaluation import Spec

if TYPE_CHECKING:
    from fastapi import FastAPI, Request, Response
    from pydantic.json_schema import JsonSchemaValue

    from assay.flows.listen.handling import BodyOf

MOST_KEY = 200       # characters of an Idempotency-Key
MOST_ANNOTATOR = 200   # characters of the name of an annotator
_EXAMPLE = '{"annotator": "ada", "answers": {"item": "class"}}'
_PURPOSE = b"assay desk 1"


# a class, a number, a list of tags, or null: cannot be decided
_Answer: TypeAlias = str | float | bool | list[str] | None


class WaitingJson(TypedDict):
    """An item that waits for an answer."""

    item_id: str            # its id, by which it is answered
    shown: dict[str, str]   # what people see of it, by column
    round: int              # the round in which it is asked
    asking: int             # 1 for the first time; 2 where everybody had skipped it
    answers: int            # people who have answered it
    people: int             # people who are to answer it


class QuestionJson(TypedDict):
    """One of several questions about every item, each of which has an answer of its own."""

    name: str              # by which it is answered
    question: str | None   # what is asked; null where the spec has none
    choices: list[str]     # the answers to choose from; empty for numbers
    choose_several: bool   # whether several of them may be chosen, as a list


class AskedJson(TypedDict):
    """What waits at the desk of an evaluation."""

    evaluation: str                          # its name
    state: Literal["waiting", "finished"]    # finished: nothing will be asked any more
    question: str | None                     # what is asked of every item; null where the spec has none
    choices: list[str]                       # the answers to choose from; empty for numbers
    choose_several: bool                     # whether several of them may be chosen, as a list
    questions: list[QuestionJson]            # where there are several; else empty
    items: list[WaitingJson]                 # empty too while the next round is planned: ask again


class TellJson(TypedDict):
    """Answers of one person."""

    annotator: NotRequired[str]   # who answers; one nameless person unless said
    answers: dict[str, _Answer | dict[str, _Answer]]   # item -> answer, or of several questions theirs


class ToldJson(TypedDict):
    """What became of the answers."""

    evaluation: str   # its name
    answers: int      # how many were taken
    repeated: bool    # whether an earlier request with this Idempotency-Key had brought them already


def desk_token(secret: bytes, evaluation: str) -> str:
    """The token by which a program asks and tells for this evaluation: 43 characters of URL-safe Base64.
    Raises BadInput for a name that no evaluation can have."""
    check_name(evaluation)
    return keyed_digest(secret, _PURPOSE, evaluation.encode())


def add_desk(
    app: "FastAPI", store: Store, secret: bytes, body_of: "BodyOf", hint: Callable[[str], bool]
) -> None:
    """Add the addresses of the desk to the receiver's application; body_of: a request's body, None where it
    is too long; hint: has an evaluation advanced soon."""
    from fastapi import Request, Response
    from starlette.concurrency import run_in_threadpool

    def refusal(request: Request, evaluation: str) -> Response | None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        try:
            expected = desk_token(secret, evaluation)
        except BadInput:
            return _problem(401, "no token of this desk")
        if scheme.lower() != "bearer" or not hmac.compare_digest(token.strip().encode(), expected.encode()):
            return _problem(401, f"send the token that `assay desk-token {evaluation}` prints, as "
                                 "`Authorization: Bearer TOKEN`")
        return None

    @app.get("/desks/openapi.json")
    def description() -> Response:
        return Response(json.dumps(desk_openapi()), media_type="application/json")

    @app.get("/desks/{evaluation}/ask")
    def ask(evaluation: str, request: Request) -> Response:
        return refusal(request, evaluation) or _answered(lambda: _ask_reply(store, evaluation, request, hint))

    @app.post("/desks/{evaluation}/tell")
    async def tell(evaluation: str, request: Request) -> Response:
        refused = refusal(request, evaluation)
        if refused is not None:
            return refused
        body = await body_of(request)
        if body is None:
            return _problem(413, "the answers are too long; send fewer at a time")
        key = request.headers.get("idempotency-key", "")
        return await run_in_threadpool(_answered, lambda: _tell_reply(store, evaluation, body, key, hint))


def _ask_reply(store: Store, name: str, request: "Request", hint: Callable[[str], bool]) -> "Response":
    """What waits. Where nothing does, the evaluation is advanced, unless it has finished."""
    from fastapi import Response

    spec = _spec(store, name)
    labelling = spec.labelling.blind
    annotator = request.query_params.get("annotator") or None
    waiting = retried(caller_desk(store, spec).ask)(annotator)
    finished = not waiting and current_standing(open_evaluation(store, name)).state == "finished"
    if not waiting and not finished:
        hint(name)
    listing = AskedJson(
        evaluation=name, state="finished" if finished else "waiting", question=labelling.question,
        choices=list(labelling.answers.choices), choose_several=labelling.answers.several,
        questions=_questions(labelling.answers),
        items=[
            WaitingJson(
                item_id=waits.item.item_id, shown=dict(waits.item.shown), round=waits.round,
                asking=waits.asking, answers=waits.answers, people=waits.wanted,
            )
            for waits in waiting
        ],
    )
    content = json.dumps(listing).encode()
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Authorization"}
    tags = [text.strip().removeprefix("W/") for text in request.headers.get("if-none-match", "").split(",")]
    if tag in tags or tags == ["*"]:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type="application/json", headers=headers)


def _questions(answers: AnswerKind) -> list[QuestionJson]:
    """What is asked of every item, question by question; empty where one answer is wanted."""
    if not isinstance(answers, QuestionAnswers):
        return []
    return [
        QuestionJson(
            name=name, question=answers.asks.get(name), choices=list(each.choices),
            choose_several=each.several,
        )
        for name, each in answers.each.items()
    ]


def _tell_reply(store: Store, name: str, body: bytes, key: str, hint: Callable[[str], bool]) -> "Response":
    """Keep the answers of a request, and have the evaluation advanced."""
    from fastapi import Response

    if len(key) > MOST_KEY:
        raise BadInput(f"Idempotency-Key: give at most {MOST_KEY} characters")
    annotator, answers = _answers(body)
    spec = _spec(store, name)
    first_time = retried(caller_desk(store, spec).tell)(by_side(spec, answers), annotator, key)
    hint(name)
    receipt = ToldJson(evaluation=name, answers=len(answers), repeated=not first_time)
    return Response(json.dumps(receipt), media_type="application/json", headers={"Cache-Control": "no-store"})


def _answers(body: bytes) -> tuple[str, dict[str, Told]]:
    """Who answers, and what, of the body of a request. Raises BadInput."""
    def refuse(constant: str) -> NoReturn:
        raise ValueError(constant)

    try:
        message = json.loads(body, parse_constant=refuse)
    except (ValueError, RecursionError):
        raise BadInput(f"the body is no JSON; send {_EXAMPLE}") from None
    if "\\ud" in body.decode("utf-8", "replace").lower():     # half a character, which cannot be kept
        message = json.loads(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace"))
    answers = message.get("answers") if isinstance(message, dict) else None
    if not isinstance(answers, dict) or not answers or set(message) - {"answers", "annotator"}:
        raise BadInput(f"send {_EXAMPLE} with at least one answer")
    annotator = message.get("annotator", "")
    if not isinstance(annotator, str) or len(annotator) > MOST_ANNOTATOR:
        raise BadInput(f"annotator: give a text of at most {MOST_ANNOTATOR} characters")
    return annotator, {item: _plain(item, answer) for item, answer in answers.items()}


def _plain(item: str, answer: Json) -> Told:
    """An answer as the desk takes it; JSON's true and false are the texts `true` and `false`."""
    match answer:
        case bool():
            return json.dumps(answer)
        case str() | int() | float() | Mapping() | None:
            return answer
    tags = [tag for tag in answer if isinstance(tag, str)]
    if len(tags) < len(answer):
        raise BadInput(f"answers: item {item!r}: tags are a list of texts")
    return tags


def _spec(store: Store, name: str) -> Spec:
    if not retried(store.exists)(layout.manifest(name)):
        raise _NotBegun(f"there is no evaluation {name!r} in this store")
    return open_evaluation(store, name).spec


class _NotBegun(BadInput):
    """No evaluation of this name has begun."""


def _answered(answer: Callable[[], "Response"]) -> "Response":
    """The response, or what went wrong as JSON with its status."""
    try:
        return answer()
    except _NotBegun as error:
        return _problem(404, str(error))
    except BadInput as error:
        return _problem(422, str(error))
    except AssayError as error:
        return _problem(503, out_of_order(error))


def _problem(status: int, message: str) -> "Response":
    from fastapi import Response

    headers = {"Cache-Control": "no-store"}
    if status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="assay"'
    if status == 503:
        headers["Retry-After"] = "10"
    body = json.dumps({"error": {"message": message}})
    return Response(body, status_code=status, media_type="application/json", headers=headers)


@cache
def desk_openapi() -> JsonObject:
    """The OpenAPI 3.1 document of the desk, from which clients can be generated: both addresses, and the
    schemas of what they take and give."""
    parts: JsonSchemaValue = {"Problem": {
        "type": "object", "required": ["error"],
        "properties": {"error": {"type": "object", "required": ["message"],
                                 "properties": {"message": {"type": "string"}}}},
    }}

    def schema(kind: type) -> JsonObject:
        written = json.dumps(schema_of(kind)).replace("#/$defs/", "#/components/schemas/")
        plain: JsonSchemaValue = json.loads(written)
        parts.update(plain.pop("$defs", {}))
        parts[kind.__name__] = plain
        return {"application/json": {"schema": {"$ref": f"#/components/schemas/{kind.__name__}"}}}

    def responses(kind: type, more: JsonObject) -> JsonObject:
        problem = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
        refusals = {"401": "a token of this desk is needed", "404": "no such evaluation has begun",
                    "422": "what was sent cannot be taken", "503": "the store cannot be reached; try again"}
        return {"200": {"description": "done", "content": schema(kind)}, **more,
                **{status: {"description": says, "content": problem} for status, says in refusals.items()}}

    name: JsonObject = {"name": "evaluation", "in": "path", "required": True, "schema": {"type": "string"}}
    annotator: JsonObject = {
        "name": "annotator", "in": "query", "schema": {"type": "string"},
        "description": "leaves out what this person has answered",
    }
    key: JsonObject = {
        "name": "Idempotency-Key", "in": "header", "schema": {"type": "string", "maxLength": MOST_KEY},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "assay desk", "version": "1", "description": "Ask what waits, tell answers."},
        "paths": {
            "/desks/{evaluation}/ask": {"get": {
                "operationId": "ask", "summary": "What waits for answers", "parameters": [name, annotator],
                "responses": responses(AskedJson, {"304": {"description": "nothing changed since the ETag"}}),
            }},
            "/desks/{evaluation}/tell": {"post": {
                "operationId": "tell", "summary": "Give answers", "parameters": [name, key],
                "requestBody": {"required": True, "content": schema(TellJson)},
                "responses": responses(ToldJson, {"413": {"description": "too long"}}),
            }},
        },
        "components": {"schemas": parts, "securitySchemes": {"desk": {"type": "http", "scheme": "bearer"}}},
        "security": [{"desk": []}],
    }
