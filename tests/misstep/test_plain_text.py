"""Text from data controls no terminal, no markup, no chart."""

import pytest
from hypothesis import given, strategies as st
from rich.console import Console
from rich.text import Text

from misstep.plain_text import check_name, metric_key, printable, printable_strings, rich_text

HOSTILE = [
    "[/]",
    "[link=https://x.test]y[/link]",
    "a\x00b",
    "\x1b]8;;x\x1b\\",
    "\u202eabc",
    "\ud83d",
]
texts = st.text() | st.lists(
    st.sampled_from(["[", "]", "/", "\\", "bold", "=", "\x1b", "\x00", "a"])
).map("".join)


@given(texts | st.sampled_from(HOSTILE))
def test_rich_prints_any_text_as_it_is(text):
    shown = printable(text)
    # Rich adds or drops a backslash before a bracket and at the end.
    assert Text.from_markup(rich_text(text)).plain.replace("\\", "") == shown.replace("\\", "")
    console = Console(width=10_000, color_system="truecolor", force_terminal=True, highlight=False)
    with console.capture() as printed:
        console.print(rich_text(text), soft_wrap=True)
    assert "\x1b" not in printed.get()
    assert "\x00" not in printed.get()
    shown.encode()


@given(texts, texts)
def test_names_of_metrics_are_printable_and_stay_different(one, other):
    assert metric_key(one).isprintable()
    if one != other and one.isprintable() and other.isprintable():
        if one.split() == other.split():
            return
        assert metric_key(one) != metric_key(other)


@pytest.mark.parametrize("name", ["math", "数学　代数", "a/b", "[algebra]", "a b", "é", "👩‍🔬"])
def test_ordinary_names_are_kept(name):
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["a\x00b", "\x1b[2J", "a\nb", "a\tb", "\u202ea", "\x85", "\ud83d"])
def test_names_with_control_characters_are_refused(name):
    with pytest.raises(ValueError, match="control character"):
        check_name(name)


@given(st.recursive(texts, lambda inner: st.lists(inner) | st.dictionaries(texts, inner)))
def test_content_for_charts_has_no_control_characters(content):
    cleaned = printable_strings({"values": content})
    assert printable_strings(cleaned) == cleaned
