"""Logs that are written sample by sample."""

from random import Random

from inspect_ai.log import EvalSample
from inspect_ai.model import ChatMessageUser
from inspect_ai.scorer import Score
from pydantic_core import to_json

from misstep.log_files import text_sample_summary

WORDS = ["a", "so", "x-1", "well-known", "—", "Straße", "\t", "\n\n", "y" * 40, "1--2", "z-" * 30]


def awkward_texts():
    """Texts around the length at which summaries cut: words, hyphens, one long word."""
    random = Random(5)
    for count in (0, 3, 120, 170, 180, 190, 200, 400, 2_000, 9_000):
        yield " ".join(random.choice(WORDS) for _ in range(count))
    yield from ("x" * n + " " + "y" * m for n in (3, 1_020, 1_025) for m in (1, 1_500, 9_000))
    yield from ("word " * 204 + tail for tail in ("end", "e-n-d", "ends here", "x" * 2_000))
    yield " " * 9_000 + "end"


def test_summaries_are_those_of_inspect():
    for text in awkward_texts():
        sample = EvalSample(
            id="1",
            epoch=1,
            input=text,
            target="3",
            messages=[ChatMessageUser(content=text)],
            scores={
                "a": Score(value="C", answer="1", explanation=text, reason=None, metadata={}),
                "b": Score(value=0.5, explanation=text[::-1], reason="refusal"),
            },
            metadata={"text": text, "list": [text[:500]] * 2, "none": None, "n": 3, "yes": True},
            uuid="u",
        )
        ours, theirs = text_sample_summary(sample), sample.summary()
        assert to_json(ours) == to_json(theirs), text
