"""The server of a stand-in: it reads, checks and answers requests by its protocol."""

import json
from collections import Counter
from dataclasses import dataclass, field

from tests.support.openai_server import ChatRequest, OpenAIServer
from tests.support.openai_server._http import HttpRequest, Response, json_response
from tests.support.openai_server._wire import BadRequestError
from tests.support.vendors._protocols import Protocol
from tests.support.vendors._wire import Conversation, Script, cut_at


@dataclass
class Traffic:
    """What arrived, and what was refused."""

    answered: list[Conversation] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)
    """Paths of requests that are no part of the protocol here."""


class VendorServer(OpenAIServer):
    """A stand-in on this machine. It runs in a thread, inside a `with` block."""

    def __init__(self, protocol: Protocol, script: Script) -> None:
        super().__init__()
        self.protocol = protocol
        self.script = script
        self.traffic = Traffic()
        self._asked: Counter[str] = Counter()

    @property
    def base_url(self) -> str:
        """The address that Inspect's provider is given."""
        return f"http://127.0.0.1:{self.port}{self.protocol.base}"

    def _respond(self, http: HttpRequest, request: ChatRequest) -> Response:
        if http.method != "POST" or not self.protocol.route.fullmatch(http.path):
            self.traffic.other.append(http.path)
            return json_response(404, self.protocol.error(404, f"no such path: {http.path}"))
        try:
            conversation = self.protocol.read(dict(request.body))
        except BadRequestError as refusal:
            self.traffic.refused.append(str(refusal))
            return json_response(400, self.protocol.error(400, str(refusal)))
        replies = []
        for _ in range(conversation.choices):
            number = self._asked[conversation.text]
            self._asked[conversation.text] += 1
            reply = cut_at(self.script(conversation, number), conversation.stop)
            replies.append(reply)
        self.traffic.answered.append(conversation)
        answer = self.protocol.answer(conversation, replies)
        if conversation.body.get("stream") and self.protocol.stream:
            lines = (
                f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
                for event in self.protocol.stream(answer)
            )
            return Response(200, "".join(lines).encode(), {"content_type": "text/event-stream"})
        return json_response(200, answer)
