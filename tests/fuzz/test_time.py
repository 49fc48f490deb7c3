"""Text made to be slow is read in bounded time (of the processor, not of a clock) and memory."""

import subprocess
import sys
import time

from misstep.forge import display_spans
from misstep.reports._forge_report import StepPair, marked_changes

SECONDS = 30
"""Of a processor, for all readers and texts; a quadratic reader needs minutes at least."""

CHECKED = 25_000
"""Characters of a step that is checked for errors."""

PROGRAM = r"""
import resource

import yaml
from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant
from misstep.boxes import boxes, last_boxed
from misstep.scorers import compare_texts
from misstep.forge import display_spans, split_solution
from misstep.forge._checks import check_example
from misstep.forge._example import Example
from misstep.forge._calls import InjectionReply, read_reply
from misstep.loaders._files import parse_rows
from misstep.registry import DataError, find_judge, parse_yaml
from misstep.scorers import read_sections, read_structured, read_verdict
from misstep.reports._forge_report import marked_changes
from misstep.reports._forge_report import StepPair
from misstep.reports._text import formulas_and_words
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
    split_solution(text)
    compare_texts(text, "1")
    choice = ChatCompletionChoice(message=ChatMessageAssistant(content=text))
    for judge in ("single_token", "written", "plain"):
        read_step_verdict(choice, find_judge(judge))


def read_injection(text):
    read_reply(text, InjectionReply)


def check_steps(text):
    for answer in ("7", "(", text[:1000]):
        steps = ["1. So we start.", text, text]
        check_example(
            Example(
                id="a",
                problem="p",
                steps=steps,
                label=1,
                original_steps=[steps[0], "2. Right.", text],
                answer=answer,
                final_answer=answer,
                error_type="circular_reasoning",
                final_answer_correct=False,
            ),
            None,
        )
    display_spans(text)
    formulas_and_words(text)
    marked_changes(StepPair(0, text[:30_000], text[1:30_000] + " more"))


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
    text = piece * (400_000 // len(piece)) + "x"
    read(text)
    read(text + "}" * text.count("{"))
    for start in ("", "```", '{"error_step": '):
        read_injection(start + text)
    read_file(text)
    check_steps(text[:{checked}])
for text in (
    "".join(f"\\begin{{a{i}}}" for i in range(30_000)),
    "".join(f"\\end{{a{i}}}\\begin{{b{i}}}" for i in range(15_000)),
    " ".join(f"word{i}" for i in range(30_000)),
    "\\[x\\] $y$ " * 30_000,
):
    check_steps(text)
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
    program = program.replace("{checked}", str(CHECKED))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:] or "it ran out of its processor time"


def test_two_long_steps_of_different_words_are_compared_in_little_time():
    before, after = (" ".join(f"{part}{i}" for i in range(450)) for part in "ab")
    start = time.process_time()
    left, right = marked_changes(StepPair(0, f"So {before}.", f"So {after}."))
    assert time.process_time() - start < 2
    assert (left.startswith("So "), right.startswith("So ")) == (True, True)
    assert ("a449</del>." in left, "b449</ins>." in right) == (True, True)


def test_many_open_environments_are_read_in_little_time():
    text = "".join(f"\\end{{a{i}}}\\begin{{a{i}}}" for i in range(40_000))
    start = time.process_time()
    assert display_spans(f"{text} \\begin{{b}} x \\end{{b}}")
    assert time.process_time() - start < 2


NESTED = r"""
import resource
from misstep.boxes import boxed_words, boxes, last_boxed, last_published_box
from misstep.scorers import read_verdict

resource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds}))
depth = 1_250_000
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for text in (
    "\\boxed{" * depth + "7" + "}" * depth,
    "\\boxed{\\boxed{1} " * (depth // 20) + "}" * (depth // 20),
):
    last_boxed(text)
    last_published_box(text)
    sum(1 for _ in boxes(text, longest=100))
    sum(1 for _ in boxed_words(text))
    for reading in ("strict", "lenient"):
        read_verdict(text, reading)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((peak - before) // 1024)
"""


def test_ten_megabytes_of_nested_boxes_take_linear_memory():
    program = NESTED.replace("{seconds}", str(SECONDS))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:] or "it ran out of its processor time"
    assert int(done.stdout) < 1_000
