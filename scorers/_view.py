"""How Inspect's viewer shows the samples."""

from inspect_ai.viewer import TaskSamplesColumn, TaskSamplesSort, TaskSamplesView, ViewerConfig

FIRST_ERROR_VIEW = ViewerConfig(
    task_samples_view=TaskSamplesView(
        name="First errors",
        columns=[
            TaskSamplesColumn(id="sampleId"),
            TaskSamplesColumn.score("subset"),
            TaskSamplesColumn(id="target"),
            TaskSamplesColumn(id="answer"),
            TaskSamplesColumn.score("first_error"),
            TaskSamplesColumn.score("first_error_lenient"),
            TaskSamplesColumn(id="tokens"),
            TaskSamplesColumn(id="error"),
        ],
        # Values are C and I: the wrong ones come first.
        sort=[TaskSamplesSort.score("first_error", dir="desc")],
        score_labels={
            "first_error": "Hit",
            "first_error_lenient": "Hit (lenient)",
            "subset": "Subset",
        },
        multiline=False,
    )
)

ERROR_SECTIONS_VIEW = ViewerConfig(
    task_samples_view=TaskSamplesView(
        name="Erroneous sections",
        columns=[
            TaskSamplesColumn(id="sampleId"),
            TaskSamplesColumn.score("subset"),
            TaskSamplesColumn(id="target"),
            TaskSamplesColumn(id="answer"),
            TaskSamplesColumn.score("error_sections", "f1"),
            TaskSamplesColumn.score("error_sections", "precision"),
            TaskSamplesColumn.score("error_sections", "recall"),
            TaskSamplesColumn.score("error_sections_published", "f1"),
            TaskSamplesColumn(id="error"),
        ],
        sort=[TaskSamplesSort.score("error_sections", "f1", dir="asc")],
        score_labels={
            "error_sections": "Sections",
            "error_sections_published": "Sections (published)",
            "subset": "Subset",
        },
        multiline=False,
    )
)

RECOVERY_VIEW = ViewerConfig(
    task_samples_view=TaskSamplesView(
        name="Error recovery",
        columns=[
            TaskSamplesColumn(id="sampleId"),
            TaskSamplesColumn.score("subset"),
            TaskSamplesColumn(id="target"),
            TaskSamplesColumn(id="answer"),
            # The viewer calls both scorers' columns NR, CR and IR: strict comes first.
            TaskSamplesColumn.score("recovery", "NR"),
            TaskSamplesColumn.score("recovery", "CR"),
            TaskSamplesColumn.score("recovery", "IR"),
            TaskSamplesColumn.score("recovery_lenient", "NR"),
            TaskSamplesColumn.score("recovery_lenient", "CR"),
            TaskSamplesColumn.score("recovery_lenient", "IR"),
            TaskSamplesColumn(id="tokens"),
            TaskSamplesColumn(id="error"),
        ],
        score_labels={"subset": "Task"},
        multiline=False,
    )
)

FINAL_ANSWER_VIEW = ViewerConfig(
    task_samples_view=TaskSamplesView(
        name="Final answers",
        columns=[
            TaskSamplesColumn(id="sampleId"),
            TaskSamplesColumn.score("subset"),
            TaskSamplesColumn(id="input"),
            TaskSamplesColumn(id="target"),
            TaskSamplesColumn(id="answer"),
            TaskSamplesColumn.score("final_answer"),
            TaskSamplesColumn(id="tokens"),
            TaskSamplesColumn(id="error"),
        ],
        sort=[TaskSamplesSort.score("final_answer", dir="desc")],
        score_labels={"final_answer": "Right", "subset": "Set"},
        multiline=False,
    )
)
