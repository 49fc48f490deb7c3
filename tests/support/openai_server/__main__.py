"""Run the server as a process. The first line that it prints is its URL."""

import argparse
import json
import signal
from pathlib import Path

from tests.support.openai_server import (
    REPLIES,
    Fault,
    Faults,
    OpenAIServer,
    confident,
    forge,
    injector,
    searcher,
)

_REPLIES = {**REPLIES, "forge": forge, "injector": injector, "searcher": searcher}
_STOP = [signal.SIGINT, signal.SIGTERM]


def _rate(text: str) -> tuple[Fault, float]:
    name, _, rate = text.partition("=")
    return Fault(name), float(rate)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tests.support.openai_server", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--reply", choices=_REPLIES, default="critic", help="the kind of reply")
    parser.add_argument("--latency", type=float, default=0.0, help="milliseconds before an answer")
    parser.add_argument("--max-choices", type=int, help="the largest n that is served; 1 ignores n")
    parser.add_argument(
        "--fault",
        type=_rate,
        action="append",
        default=[],
        metavar="NAME=RATE",
        help=f"the share of requests that fail in this way; names: {', '.join(Fault)}",
    )
    parser.add_argument("--fault-seed", type=int, default=0)
    parser.add_argument("--record", type=Path, help="the file for all request bodies")
    return parser.parse_args()


def main() -> None:
    """Serve until a signal to stop."""
    arguments = _arguments()
    server = OpenAIServer(
        _REPLIES[arguments.reply],
        port=arguments.port,
        latency=arguments.latency,
        max_choices=arguments.max_choices,
        faults=Faults(dict(arguments.fault), seed=arguments.fault_seed),
        pooling=confident,
        record=arguments.record is not None,
    )
    # Block the signals before the server's thread starts, or that thread may receive them.
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOP)
    with server:
        print(server.url, flush=True)
        signal.sigwait(_STOP)
    if arguments.record is not None:
        with arguments.record.open("w", encoding="utf-8") as stream:
            stream.writelines(json.dumps(request.body) + "\n" for request in server.requests)


if __name__ == "__main__":
    main()
