"""Published results beside runs: those on the same data and by the same protocol and rule."""

from collections.abc import Iterator, Mapping, Sequence
from math import nan

from misstep.registry import PublishedResult, PublishedTable, published
from misstep.reports._benchmarks import Benchmark
from misstep.reports._frames import FrameRow
from misstep.reports._runs import Run

MEAN = "mean_subset_f1_score"
"""The average that the ProcessBench paper reports."""

PUBLISHED_RULE = "published_"
"""The begin of the name of a metric that the paper's rule gives, beside ours."""
BY_PUBLISHED_RULE: dict[str, tuple[str, tuple[str, ...]]] = {
    "agent_process": ("step_labels_published", ("first_error_accuracy", "step_accuracy")),
    "who_and_when": ("attribution_published", ("step_accuracy", "agent_accuracy")),
    "deltabench_sections": (
        "error_sections_published",
        ("f1_macro", "precision_macro", "recall_macro"),
    ),
    "prmbench": ("step_validity_published", ("prmscore", "simplicity", "soundness", "sensitivity")),
    "mr_ben": ("marking_published", ("mr_score", "mcc", "task2_accuracy", "task3_accuracy")),
}
"""The scorer and the metrics of papers whose rule is another one than ours, by eval. Published
results are comparable with these metrics alone."""

_CRITIQUE_VOTES = {"single": 1, "critic": 1, "maj@8": 8}
"""The votes of published protocols with the critique prompt."""
_NEVER_ALIKE = ("orm", "subset", "3-shot")
"""Published protocols that no run of misstep follows."""


def metric_columns(values: Mapping[str, float], metrics: Sequence[str]) -> FrameRow:
    columns = (f"{name}{end}" for name in metrics for end in ("", "_lower", "_upper"))
    return {column: values.get(column, nan) for column in columns}


def published_rows(
    benchmark: Benchmark, metrics: Sequence[str], reading: str = "strict"
) -> Iterator[FrameRow]:
    """Yield the published results on the same data and by the protocol of one of the runs.

    If the paper's rule is another one than that of the reading, they have values in the columns of
    the published rule alone.
    """
    source = benchmark.source or benchmark.data.partition("-")[0]
    source = source.removesuffix("_labels")  # a benchmark's labels alone are the same rows
    subset = benchmark.only_subset if not benchmark.subsets else ""
    whole = benchmark.data == benchmark.source
    by_rule = benchmark.eval in BY_PUBLISHED_RULE and reading != "published"
    begin = PUBLISHED_RULE if by_rule else ""
    seen: set[tuple[object, ...]] = set()
    for table in published().values():
        # Users' own rows and the bundled sample have no published results.
        data = table.data or table.eval.partition("_")[0]
        if table.eval != benchmark.eval or source != data:
            continue
        asked = {
            protocol
            for protocol in table.protocols
            if any(asked_alike(run, protocol, table) for run in benchmark.runs)
        }
        for model, result in table.results.items():
            found = _published_values(result, subset, benchmark.subsets, whole)
            values = {f"{begin}{name}": value for name, value in found.items()}
            # Papers repeat rows of other papers.
            same = (model, *(cell.f1 for cell in result.subsets.values()), *result.metrics.values())
            shown = result.protocol in asked and not values.keys().isdisjoint(metrics)
            if values and shown and same not in seen:
                seen.add(same)
                known = {name: value / 100 for name, value in values.items() if value is not None}
                yield {
                    "run": model,
                    "name": model,
                    "model": model,
                    "protocol": result.protocol,
                    "settings": result.protocol,
                    "published": True,
                    "source": f"{table.source}; {table.protocols[result.protocol]}",
                    "samples": None,
                    "rank": None,
                    "tied": "",
                    "apart": "",
                    **metric_columns(known, metrics),
                }


def asked_alike(run: Run, protocol: str, table: PublishedTable) -> bool:
    """Whether a run was asked like the models of a published protocol."""
    traits = run.traits
    if run.is_baseline or protocol in _NEVER_ALIKE:
        return False
    if protocol == "prm" or run.by_rewards:
        return protocol == "prm" and run.by_rewards
    if table.wording and not (run.imported or traits.get("wording") == "published"):
        return False
    if protocol in _CRITIQUE_VOTES:
        plain = not (run.epochs > 1 or traits.get("adaptive") or traits.get("weighted"))
        critic, domain = traits.get("critic"), traits.get("domain")
        mathematics = run.kind == "error_sections" or domain in (None, "mathematics")
        return (
            plain
            and mathematics
            and critic in (None, "critique")
            and traits.get("votes", 1) == _CRITIQUE_VOTES[protocol]
        )
    if protocol.endswith(" answer"):
        answer = "without" if traits.get("ground_truth") is False else "with"
        return protocol == f"{traits.get('critic') or 'all_at_once'} {answer} answer"
    methods = {name.partition(" ")[0] for name in table.protocols}
    critic = str(traits.get("critic"))
    return critic not in methods or protocol.startswith(critic)


def _published_values(
    result: PublishedResult, subset: str, subsets: Sequence[str], whole: bool
) -> dict[str, float | None]:
    """The published metrics of a model in percent. A mean is over the subsets that were run."""
    metric = "f1_macro" if result.overall else "f1_score"
    if result.metrics:
        # They are results on the whole benchmark, or on the subset that their name begins with.
        begin = f"{subset}_" if subset else ""
        begins = tuple(f"{one}_" for one in subsets)
        return {
            name.removeprefix(begin): value
            for name, value in result.metrics.items()
            if name.startswith(begin) and (subset or whole or name.startswith(begins))
        }
    if subset:
        if subset not in result.subsets:
            return {}
        cell = result.subsets[subset]
        return {metric: cell.f1, "error_accuracy": cell.error, "correct_accuracy": cell.correct}
    if not set(subsets) <= result.subsets.keys():
        return {}
    values: dict[str, float | None] = {
        f"{name}_{metric}": cell.f1 for name, cell in result.subsets.items()
    }
    whole = set(subsets) == result.subsets.keys()
    if result.overall:
        if whole:
            overall = result.overall
            values["f1_macro"] = overall.f1
            values["precision_macro"] = overall.precision
            values["recall_macro"] = overall.recall
        return values
    scores = [result.subsets[name].f1 for name in subsets]
    values[MEAN] = result.mean_f1 if whole or not scores else sum(scores) / len(scores)
    return values
