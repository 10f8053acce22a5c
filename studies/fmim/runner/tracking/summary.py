"""The parent run of a study: each arm's means, the answer in sentences, and where more is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fmim.runner.tracking.trial_run import milliseconds, safe_names
from fmim_core.records import StudyFile

LONGEST_TAG = 8000  # letters; MLflow cuts longer ones


@dataclass(frozen=True)
class Summary:
    """The results of a study in short, as far as they go.

    sentences: the answer of each comparison, or each arm's result where none is declared.
    table: the arms, in Markdown.
    metrics: `test_mAP/ARM` and others, at the time of the last record.
    """

    study: StudyFile
    sentences: tuple[str, ...]
    table: str
    metrics: tuple[Any, ...]

    @classmethod
    def of(cls, out: Path) -> Summary:
        """Return the results in a study's folder, as far as they go."""
        from mlflow.entities import Metric

        from fmim_reports.parts.comparisons.words import plain_sentences
        from fmim_reports.reading.results import read_results
        from fmim_reports.reading.summary import arm_summaries
        from fmim_reports.studies import contents_of

        results = read_results(out)
        arms = arm_summaries(results)
        sentences = plain_sentences(results) or contents_of(results).verdict(results).findings
        ended = (trial.record.ended_at for trial in results.every_trial if trial.record)
        at = milliseconds(max(ended, default=results.study.created_at))
        metric = safe_names([results.metric.name])[results.metric.name]
        metrics = tuple(Metric(name, float(value), at, 0) for arm in arms for name, value in _values(arm, metric))
        return cls(results.study, sentences, _table(results, arms), metrics)

    def description(self, links: str) -> str:
        """Return Markdown that the parent run's page shows; links first, since MLflow folds away all but some lines."""
        from fmim_reports.writing.formats import to_md

        answer = "\n".join(f"- {to_md(sentence)}" for sentence in self.sentences)
        return _whole_lines("\n\n".join([links, to_md(self.study.question), answer, self.table]), LONGEST_TAG)


def _whole_lines(text: str, longest: int) -> str:
    """Return as many lines of a text as there is room for, and where the rest is."""
    if len(text) <= longest:
        return text
    note = "\n\nThe report has the rest."
    return text[: longest - len(note)].rpartition("\n")[0] + note


def _values(arm: Any, metric: str) -> Iterator[tuple[str, float]]:
    """Yield an arm's means ± SE and what its search cost; nothing of what has no value yet."""
    for part, stat in (("test", arm.test.stat), ("validation", arm.validation.stat)):
        if stat.n:
            yield f"{part}_{metric}/{arm.name}", stat.mean
        if stat.n and stat.se is not None:
            yield f"{part}_{metric}_se/{arm.name}", stat.se
    cost = {"search_epochs": arm.cost.epochs, "search_device_seconds": arm.cost.device_seconds, "n_s": arm.cost.n_s}
    yield from ((f"{name}/{arm.name}", value) for name, value in cost.items())


def _table(results: Any, arms: Sequence[Any]) -> str:
    """Return the arms with what was selected, their means and what their searches cost."""
    from fmim_reports.writing.formats import configuration_text
    from fmim_reports.writing.markup import markdown
    from fmim_reports.writing.tables import Column, Table

    label = f"{results.metric.label}, %"
    columns = [
        Column("arm", "Arm"),
        Column("configuration", "Selected"),
        Column("test", f"Test {label}, mean ± SE over seeds", "estimate"),
        Column("validation", f"Validation {label}, mean ± SE over folds", "estimate"),
        Column("n_s", "N_s", "count"),
        Column("epochs", "Epochs of the search", "count"),
    ]
    rows = [
        {
            "arm": arm.label,
            "configuration": configuration_text(arm.configuration),
            "test": arm.test,
            "validation": arm.validation,
            "n_s": arm.cost.n_s,
            "epochs": arm.cost.epochs,
        }
        for arm in arms
    ]
    return markdown(Table("arms", "Arms", "", columns, rows))
