"""Rows in DeltaBench's form, made for tests."""


def delta_row(id="d-0", texts=("First.", "Second.", "Third."), errors=(), unuseful=(), **other):
    """A row with one section a text."""
    return {
        "id": id,
        "origin": "made",
        "task_l1": "math",
        "task_l2": "Algebra",
        "level": 2.0,
        "question": "How many?",
        "long_cot": "\n\n".join(texts),
        "sections": [
            {"start": i, "end": i, "description": "a part", "content": text}
            for i, text in enumerate(texts, start=1)
        ],
        "sections_content": "\n\n\n".join(f"section{i}: {t}" for i, t in enumerate(texts, start=1)),
        "final_correct": 0,
        "stragegy_shift_section_numbers": [],
        "reason_unuseful_section_numbers": list(unuseful),
        "reason_error_section_numbers": list(errors),
        "error_type": "Calculation Error",
        **other,
    }
