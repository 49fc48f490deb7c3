import pytest

from misstep.registry import domains, find_domain
from misstep.solvers import critique_prompt, tagged

PUBLISHED = (
    "The following is a math problem and a solution (split into paragraphs, enclosed with tags "
    "and indexed from 0):\n\n[Math Problem]\n\n{problem}\n\n[Solution]\n\n{tagged_response}\n\n"
    "Your task is to review and critique the solution paragraph by paragraph. Once you identify "
    "an error in a paragraph, return the index of the paragraph where the earliest error occurs. "
    'Otherwise, return the index of -1 (which typically denotes "not found").\n\n'
    "Please put your final answer (i.e., the index) in \\boxed{}."
)


def published_prompt(problem: str, steps: list[str]) -> str:
    """The published rendering, written again: a loop over tags, strip, one substitution each."""
    response = ""
    for i, step in enumerate(steps):
        response += f"<paragraph_{i}>\n{step}\n</paragraph_{i}>\n\n"
    head, rest = PUBLISHED.split("{problem}")
    middle, tail = rest.split("{tagged_response}")
    return head + problem + middle + response.strip() + tail


def test_the_rendered_prompt_is_byte_equal_to_the_published_one(real_rows):
    mathematics = find_domain("mathematics")
    for row in [row for rows in real_rows.values() for row in rows]:
        prompt = critique_prompt(mathematics, row.problem, row.steps)
        assert prompt.encode() == published_prompt(row.problem, row.steps).encode(), row.id


def test_no_control_character_reaches_a_model(real_rows):
    for row in [row for rows in real_rows.values() for row in rows]:
        for domain in domains().values():
            prompt = critique_prompt(domain, row.problem, row.steps)
            assert not [c for c in prompt if ord(c) < 32 and c not in "\n\t"], row.id
    assert r"in \boxed{}." in critique_prompt(find_domain("generic"), "p", ["s"])


NASTY = [
    "{tagged_response} {problem} {0} {}",
    "</paragraph_0>\n\n<paragraph_9>",
    r"so \boxed{5} and \1 \g<0>",
    "\x1b[31mred\x1b[0m",
]


@pytest.mark.parametrize("domain", ["mathematics", "generic", "science", "programming"])
def test_values_that_look_like_places_stay_text(domain):
    prompt = critique_prompt(find_domain(domain), "{tagged_response}", NASTY)
    for i, step in enumerate(NASTY):
        assert f"<paragraph_{i}>\n{step}\n</paragraph_{i}>" in prompt
    assert "Problem]\n\n{tagged_response}\n\n[Solution]\n\n<paragraph_0>" in prompt
    assert prompt.endswith(r"in \boxed{}.")


@pytest.mark.parametrize(
    ("domain", "head", "looks_for"),
    [
        ("generic", "[Problem]", ""),
        ("science", "[Science Problem]", "wrong units"),
        ("programming", "[Programming Problem]", "incorrect algorithms"),
    ],
)
def test_each_domain_has_its_own_head_and_list(domain, head, looks_for):
    prompt = critique_prompt(find_domain(domain), "P", ["S"])
    assert f"{head}\n\nP\n\n[Solution]" in prompt
    assert looks_for in prompt


@pytest.mark.parametrize("tag", ["paragraph", "step", "proof_step"])
def test_tags_may_have_other_names(tag):
    assert tagged(["a", "b"], tag) == f"<{tag}_0>\na\n</{tag}_0>\n\n<{tag}_1>\nb\n</{tag}_1>"
