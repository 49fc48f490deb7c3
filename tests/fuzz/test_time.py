"""A megabyte made to be slow is read in a bounded time: of the processor, not of a clock."""

import subprocess
import sys

SECONDS = 60
"""Of a processor, for all readers and texts; a quadratic reader needs hours."""

PROGRAM = r"""
import resource

import yaml
from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant
from misstep.boxes import boxes, last_boxed
from misstep.scorers import compare_texts
from misstep.forge import split_steps
from misstep.forge._messages import InjectionReply, read_reply
from misstep.loaders._files import parse_rows
from misstep.registry import DataError, find_judge, parse_yaml
from misstep.scorers import read_sections, read_structured, read_verdict
from misstep.rewards import read_step_verdict

resource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds}))


def read(text):
    for reading in ("strict", "lenient"):
        read_verdict(text, reading)
    for reading in ("strict", "published"):
        read_sections(text, reading)
    read_structured(text)
    list(boxes(text, longest=1000))
    last_boxed(text)
    split_steps(text)
    compare_texts(text, "1")
    choice = ChatCompletionChoice(message=ChatMessageAssistant(content=text))
    for judge in ("single_token", "written", "plain"):
        read_step_verdict(choice, find_judge(judge))


def read_injection(text):
    read_reply(text, InjectionReply)


def read_file(text):
    for ending in ("json", "jsonl", "csv"):
        try:
            list(parse_rows(text.encode(), f"own.{ending}"))
        except DataError:
            pass
    try:
        parse_yaml(text)
    except yaml.YAMLError:
        pass


for piece in {pieces!r}:
    text = piece * (1_000_000 // len(piece)) + "x"
    read(text)
    read(text + "}" * text.count("{"))
    for start in ("", "```", '{"error_step": '):
        read_injection(start + text)
    read_file(text)
"""

PIECES = [
    "\\boxed{",
    "\\boxed {",
    "{}",
    "\\text {\\boxed {",
    " ",
    "paragraph_",
    "Error Section Number: 1,",
    "1. Conclusion: ",
    "9",
    "a\n\n",
    "1. ",
    "\n",
    "```\n",
    "[",
    "\\begin{a}",
    "$$",
    "\\[",
    "- ",
    "{a: ",
    "&a ",
    '"',
]


def test_no_text_makes_a_reader_slow():
    program = PROGRAM.replace("{seconds}", str(SECONDS)).replace("{pieces!r}", repr(PIECES))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:] or "it ran out of its processor time"
