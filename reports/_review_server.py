"""The review page: a server on this machine for one page of static text.

The address has a random token, and only names of this machine are answered. All text of rows is
escaped here; the page runs no script but its own.
"""

import json
from collections.abc import Sequence
from functools import cached_property
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import compare_digest, token_urlsafe
from typing import Any
from urllib.parse import unquote

from pydantic import ValidationError

from misstep.registry import DataError, MisstepError, taxonomy
from misstep.reports._review import ADJUDICATOR, Decision, DecisionFile, ReviewItem
from misstep.reports._text import page_file, script_hash, text_html

_LONGEST_REQUEST = 65_536


class ReviewServer(ThreadingHTTPServer):
    """Serves the review of some items on the loopback interface."""

    daemon_threads = True

    def __init__(
        self,
        items: Sequence[ReviewItem],
        decisions: DecisionFile,
        port: int = 0,
        blind: bool = False,
        adjudicate: bool = False,
    ) -> None:
        self.items = items
        self.decisions = decisions
        self.blind = blind
        self.adjudicate = adjudicate
        self.token = token_urlsafe(24)
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except OSError as problem:
            raise MisstepError(
                f"--port {port}: not available ({problem.strerror}). Choose another, or none."
            ) from None

    @property
    def address(self) -> str:
        """The address of the page, with its token."""
        return f"http://127.0.0.1:{self.server_address[1]}/{self.token}/"

    @cached_property
    def by_id(self) -> dict[str, ReviewItem]:
        """The items by id."""
        return {item.id: item for item in self.items}

    @cached_property
    def page(self) -> tuple[bytes, str]:
        """The page, and the policy that allows only its own script and style."""
        script, style = page_file("review.js"), page_file("review.css")
        html = page_file("review.html").replace("{style}", style).replace("{script}", script)
        policy = (
            f"default-src 'none'; script-src {script_hash(script)}; "
            f"style-src {script_hash(style)}; "
            "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        return html.encode(), policy

    def listed(self, annotator: str) -> dict[str, Any]:
        """Return the items in short, with the decisions of one annotator."""
        name = ADJUDICATOR if self.adjudicate else annotator
        disagreements = self.decisions.disagreements()
        known = self.decisions.decisions
        shown = [one for one in self.items if not self.adjudicate or one.id in disagreements]
        return {
            "blind": self.blind,
            "adjudicate": self.adjudicate,
            "types": list(taxonomy()),
            "items": [
                {
                    "id": one.id,
                    "doubtful": bool(one.doubt[1]) and not self.blind,
                    "decision": known[one.id, name].model_dump()
                    if (one.id, name) in known
                    else None,
                }
                for one in shown
            ],
        }

    def shown(self, item: ReviewItem) -> dict[str, Any]:
        """Return an item for the page. In a blind review it has no label and no hint."""
        content: dict[str, Any] = {
            "id": item.id,
            "problem": text_html(item.problem),
            "steps": [text_html(step) for step in item.steps],
        }
        if self.blind and not self.adjudicate:
            return content
        others = self.decisions.by_item().get(item.id, {}) if self.adjudicate else {}
        return content | {
            "label": item.label,
            "error_type": item.error_type,
            "original": [text_html(step) for step in item.original_steps],
            "why": text_html(item.why),
            "critics": {**item.critics, **_votes(item)},
            "others": {
                name: {"rating": one.rating, "type": one.error_type, "note": one.note}
                for name, one in sorted(others.items())
            },
        }

    def decide(self, content: Any) -> Decision:  # noqa: ANN401
        """Write a decision from the page. It is on disk when this returns."""
        decision = Decision.model_validate(content)
        item = self.by_id.get(decision.item)
        if item is None:
            raise MisstepError(f"{decision.item!r}: no such item.")
        if decision.label >= len(item.steps):
            raise MisstepError(f"label {decision.label}: the item has {len(item.steps)} steps.")
        if decision.error_type is not None and decision.error_type not in taxonomy():
            raise MisstepError(f"{decision.error_type!r}: no such error type.")
        changes = {"blind": self.blind and not self.adjudicate}
        kind = decision.decision
        if kind != "reject":
            kind = "accept" if decision.label == item.label else "correct"
        name = ADJUDICATOR if self.adjudicate else decision.annotator
        if not self.adjudicate and name == ADJUDICATOR:
            raise MisstepError(f"{ADJUDICATOR!r} is the name of adjudications. Choose another.")
        decision = decision.model_copy(update={**changes, "decision": kind, "annotator": name})
        self.decisions.add(decision)
        return decision


def _votes(item: ReviewItem) -> dict[str, int | None]:
    return {f"review vote {number}": vote for number, vote in enumerate(item.votes, 1)}


class _Handler(BaseHTTPRequestHandler):
    server: ReviewServer
    server_version = "misstep"
    sys_version = ""

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: addresses have the token."""

    def do_GET(self) -> None:
        """Send the page, the list of items, or one item."""
        path = self._checked_path()
        if path is None:
            return
        name, _, rest = path.partition("/")
        if name == "":
            content, policy = self.server.page
            self._send(HTTPStatus.OK, content, "text/html; charset=utf-8", policy)
        elif name == "items":
            self._send_json(self.server.listed(unquote(rest)))
        elif name == "item" and (item := self.server.by_id.get(unquote(rest))):
            self._send_json(self.server.shown(item))
        else:
            self._refuse(HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        """Write a decision."""
        if self._checked_path() != "decision":
            self._refuse(HTTPStatus.NOT_FOUND)
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > _LONGEST_REQUEST:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return
        body = self.rfile.read(int(length))
        if self.headers.get_content_type() != "application/json":
            self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
            return
        try:
            self._send_json(self.server.decide(json.loads(body)).model_dump())
        except DataError as problem:
            self._send_json({"problem": str(problem)}, HTTPStatus.INSUFFICIENT_STORAGE)
        except (ValidationError, MisstepError, ValueError, RecursionError) as problem:
            self._send_json({"problem": str(problem)[:500]}, HTTPStatus.BAD_REQUEST)

    def _checked_path(self) -> str | None:
        """Return the path after the token. Refuse other tokens, hosts and origins."""
        host = f"127.0.0.1:{self.server.server_address[1]}"
        origin = self.headers.get("Origin")
        if self.headers.get("Host") != host or origin not in (None, f"http://{host}"):
            self._refuse(HTTPStatus.FORBIDDEN)
            return None
        _, _, rest = self.path.partition("?")[0].partition("/")
        token, slash, path = rest.partition("/")
        if not slash or not compare_digest(token.encode(), self.server.token.encode()):
            self._refuse(HTTPStatus.NOT_FOUND)
            return None
        return path

    def _refuse(self, status: HTTPStatus) -> None:
        self.close_connection = True
        self._send(status, f"{status.phrase}\n".encode(), "text/plain; charset=utf-8")

    def _send_json(self, content: Any, status: HTTPStatus = HTTPStatus.OK) -> None:  # noqa: ANN401
        self._send(status, json.dumps(content).encode(), "application/json")

    def _send(
        self, status: HTTPStatus, content: bytes, kind: str, policy: str = "default-src 'none'"
    ) -> None:
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(content))),
            ("Content-Security-Policy", policy),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
            ("Cache-Control", "no-store"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
