"""How Inspect's viewer shows the samples of a first-error eval."""

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
