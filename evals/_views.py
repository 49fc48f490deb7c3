"""How Inspect's viewer shows the samples of each task."""

from collections.abc import Mapping, Sequence

from inspect_ai.viewer import TaskSamplesColumn, TaskSamplesSort, TaskSamplesView, ViewerConfig

_score = TaskSamplesColumn.score


def _view(
    name: str,
    columns: Sequence[str | TaskSamplesColumn],
    labels: Mapping[str, str],
    sort: TaskSamplesSort | None = None,
) -> ViewerConfig:
    """Return a view with these columns after the sample's id and its subset.

    Other scores, such as those of published rules, are a choice in the viewer's menu of columns.

    Args:
        name: The name of the view.
        columns: Inspect's own columns by their names, and columns of scores.
        labels: The titles of scores.
        sort: The order of samples.
    """
    named = [TaskSamplesColumn(id=one) if isinstance(one, str) else one for one in columns]
    view = TaskSamplesView(
        name=name,
        columns=[TaskSamplesColumn(id="sampleId"), _score("subset"), *named],
        sort=None if sort is None else [sort],
        score_labels=dict(labels),
        multiline=False,
    )
    return ViewerConfig(task_samples_view=view)


def _first_error_view(name: str, strict: str) -> ViewerConfig:
    """Return a view of first errors. `strict` is the scorer that reads strictly."""
    return _view(
        name,
        ["target", "answer", _score(strict), _score("first_error_lenient"), "tokens", "error"],
        {strict: "Hit", "first_error_lenient": "Hit (lenient)", "subset": "Subset"},
        # Values are C and I, so the wrong samples come first.
        TaskSamplesSort.score(strict, dir="desc"),
    )


FOUND_STEPS_VIEW = ViewerConfig(
    task_samples_view=TaskSamplesView(
        name="First wrong steps",
        # Transcripts without labels have no target and no subset.
        columns=[
            *(TaskSamplesColumn(id=one) for one in ("sampleId", "input", "answer")),
            _score("named_step"),
            *(TaskSamplesColumn(id=one) for one in ("tokens", "error")),
        ],
        # Values are error, none and unread, so the transcripts with an error come first.
        sort=[TaskSamplesSort.score("named_step", dir="asc")],
        multiline=False,
    )
)

FIRST_ERROR_VIEW = _first_error_view("First errors", "first_error")
DETECTIONS_VIEW = _first_error_view("Injected errors", "detections")

AGENT_PROCESS_VIEW = _view(
    "Steps of agents",
    [
        *("target", "answer", _score("first_error"), _score("step_labels", "steps")),
        *("tokens", "error"),
    ],
    {"first_error": "First error", "steps": "Steps right", "subset": "Set"},
    TaskSamplesSort.score("first_error", dir="desc"),
)

WHO_AND_WHEN_VIEW = _view(
    "Who and when",
    [
        *("target", "answer"),
        *(_score("attribution", value) for value in ("agent", "step", "both")),
        *("tokens", "error"),
    ],
    {"agent": "Agent", "step": "Step", "both": "Both", "subset": "Set"},
    TaskSamplesSort.score("attribution", "step", dir="asc"),
)

ERROR_SECTIONS_VIEW = _view(
    "Erroneous sections",
    [
        *("target", "answer"),
        *(_score("error_sections", metric) for metric in ("f1", "precision", "recall")),
        *(_score("error_sections_published", "f1"), "error"),
    ],
    {
        "error_sections": "Sections",
        "error_sections_published": "Sections (published)",
        "subset": "Subset",
    },
    TaskSamplesSort.score("error_sections", "f1", dir="asc"),
)

STEP_VALIDITY_VIEW = _view(
    "Labels of steps",
    [
        *("target", "answer"),
        *(_score("step_validity", name) for name in ("accuracy", "tp", "fp", "tn", "fn")),
        *(_score("first_error"), "tokens", "error"),
    ],
    {"step_validity": "Steps", "first_error": "First error", "subset": "Class"},
    TaskSamplesSort.score("step_validity", "accuracy", dir="asc"),
)

MISTAKE_VIEW = _view(
    "First mistakes",
    ["target", "answer", _score("mistake_location"), "tokens", "error"],
    {"mistake_location": "Right place", "subset": "Task"},
    TaskSamplesSort.score("mistake_location", dir="desc"),
)

MARKING_VIEW = _view(
    "Marks",
    [
        *("target", "answer"),
        *(_score("marking", name) for name in ("mark", "step", "reason")),
        *(_score("marking_published", name) for name in ("mark", "step", "reason")),
        *("tokens", "error"),
    ],
    # The viewer gives the columns of both scorers the same names. Ours come first.
    {"mark": "Mark right", "step": "Step right", "reason": "Reason right", "subset": "Subject"},
    TaskSamplesSort.score("marking", "mark", dir="asc"),
)


def recovery_view(variations: Sequence[str]) -> ViewerConfig:
    """Return the view of error recovery with a column for each variation.

    With many variations only strict scores have columns; the others are a choice of the viewer.
    """
    lenient = variations if len(variations) <= 4 else ()
    return _view(
        "Error recovery",
        [
            *("target", "answer"),
            # The viewer names the columns of both scorers NR, CR and IR. Strict comes first.
            *(_score("recovery", variation) for variation in variations),
            *(_score("recovery_lenient", variation) for variation in lenient),
            *("tokens", "error"),
        ],
        {"subset": "Task"},
    )


FINAL_ANSWER_VIEW = _view(
    "Final answers",
    ["input", "target", "answer", _score("final_answer"), "tokens", "error"],
    {"final_answer": "Right", "subset": "Set"},
    TaskSamplesSort.score("final_answer", dir="desc"),
)
