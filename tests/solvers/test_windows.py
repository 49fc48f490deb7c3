"""Long trajectories are read in windows of whole steps, by a stated rule."""

from misstep.solvers import windows


def test_without_a_context_one_window_has_all_steps():
    [window] = windows(["a", "b"], "step")
    assert window.text == "<step_0>\na\n</step_0>\n\n<step_1>\nb\n</step_1>"
    assert list(window.numbers) == [0, 1]


def test_windows_cover_all_steps_once_fit_the_context_and_keep_the_numbers():
    steps = [f"[step {i}] assistant\n" + "x" * (100 * (i % 5)) for i in range(40)]
    context, around = 1000, 300
    parts = windows(steps, "step", context, around, reply_tokens=100)
    assert len(parts) > 1
    assert [number for part in parts for number in part.numbers] == list(range(40))
    for part in parts:
        assert len(part.text) + around <= (context - 100) * 3
        for number in part.numbers:
            assert f"<step_{number}>\n{steps[number]}\n</step_{number}>" in part.text


def test_a_later_window_begins_with_one_line_about_each_earlier_step():
    seen = "[tool]\nlong " + "r" * 900
    steps = [f"{seen}\n\n[step {i}] assistant\nI did {i}." for i in range(4)]
    parts = windows(steps, "step", 700)
    assert "[step 0] assistant I did 0." in parts[1].text
    assert "rrr" not in parts[1].text.split("<step_")[0]


def test_a_step_that_does_not_fit_is_never_cut():
    assert windows(["short", "x" * 10_000], "step", 1000) is None
