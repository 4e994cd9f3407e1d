"""An agent with a tool, whose model is a small server on this machine: no network, no key.

The model asks for the tool first.  Its answer is wrong where the number is a multiple of 3.
"""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

TOOLS = [{"type": "function", "function": {
    "name": "double", "description": "twice a number",
    "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}},
}}]
NUMBERS = range(12)


def question(i):
    """What the user asks."""
    return f"What is twice {i}?"


def answer(i):
    """What the model says."""
    return f"The answer is {2 * i + (i % 3 == 0)}."


class Model(BaseHTTPRequestHandler):
    """Chat completions as OpenAI's interface has them."""

    def do_POST(self):
        """One completion."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        i = int(re.search(r"\d+", next(m["content"] for m in asked["messages"] if m["role"] == "user"))[0])
        message = {"role": "assistant", "content": answer(i)}
        if asked["messages"][-1]["role"] == "user":
            call = {"id": f"call_{i}", "type": "function",
                    "function": {"name": "double", "arguments": json.dumps({"n": i})}}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        body = json.dumps({
            "id": f"chat-{i}", "object": "chat.completion", "created": 1, "model": asked["model"],
            "choices": [{"index": 0, "message": message,
                         "finish_reason": "tool_calls" if message["content"] is None else "stop"}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10},
        }).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *told):
        """Nothing."""


def address_of_model():
    """Of a server that runs until the process ends."""
    server = HTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/v1"


def conversation(i):
    """The messages before the last answer."""
    call = {"id": f"call_{i}", "type": "function",
            "function": {"name": "double", "arguments": json.dumps({"n": i})}}
    return [
        {"role": "system", "content": "You double numbers."}, {"role": "user", "content": question(i)},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call_{i}", "content": str(2 * i)},
    ]


def ask(client, model, i, tool):
    """The answer, by way of the tool; client: one of the package `openai`."""
    messages = conversation(i)[:2]
    said = client.chat.completions.create(model=model, messages=messages, tools=TOOLS).choices[0].message
    call = said.tool_calls[0]
    result = tool(**json.loads(call.function.arguments))
    messages += [{"role": "assistant", "content": None, "tool_calls": [call.model_dump()]},
                 {"role": "tool", "tool_call_id": call.id, "content": result}]
    said = client.chat.completions.create(model=model, messages=messages, tools=TOOLS).choices[0].message
    return said.content
