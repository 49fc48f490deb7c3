from misstep.boxes import boxes, last_boxed


def test_braces_inside_a_box_are_kept():
    assert last_boxed(r"so \boxed{\frac{1}{2}} it is") == r"\frac{1}{2}"


def test_the_last_closed_box_counts():
    assert last_boxed(r"\boxed{1} then \boxed{2} then \boxed{3") == "2"


def test_no_box_is_none():
    assert last_boxed("the answer is 7") is None


def test_escaped_braces_do_not_close_a_box():
    assert boxes(r"\boxed{\{1, 2\}}") == [r"\{1, 2\}"]


def test_nested_boxes_are_both_given():
    assert boxes(r"\boxed{a \boxed{b}}") == [r"a \boxed{b}", "b"]


def test_a_megabyte_of_open_boxes_is_read_at_once():
    assert boxes(r"\boxed{" * 150_000) == []
