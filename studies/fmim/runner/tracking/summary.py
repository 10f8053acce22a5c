"""What the parent run says of a study: each arm's means, the answer in sentences, and where more is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fmim.runner.tracking.values import LoggedValue, milliseconds, safe_names
from fmim.runner.tracking.views import arms_page, arms_view, run_page
from fmim_core.records import StudyFile

LONGEST_TAG = 8000  # letters; MLflow cuts longer ones


@dataclass(frozen=True)
class Summary:
    """What is told of a study's results, as far as they go.

    sentences: the answer of each comparison, or each arm's result where none is declared.
    table: the arms, in Markdown.
    metrics: `test_mAP/ARM` and others, at the time of the last record.
    view: as `views.arms_view`.
    """

    study: StudyFile
    sentences: tuple[str, ...]
    table: str
    metrics: tuple[LoggedValue, ...]
    view: str

    @classmethod
    def of(cls, out: Path) -> Summary:
        """The results in a study's folder, as far as they go."""
        from fmim_reports.parts.comparisons.plain import plain_sentences
        from fmim_reports.reading.results import read_results
        from fmim_reports.reading.summary import arm_summaries
        from fmim_reports.studies import contents_of

        results = read_results(out)
        arms = arm_summaries(results)
        sentences = plain_sentences(results) or contents_of(results).verdict(results).findings
        ended = (trial.record.ended_at for trial in results.every_trial if trial.record)
        at = milliseconds(max(ended, default=results.study.created_at))
        metric = safe_names([results.metric.name])[results.metric.name]
        varied = sorted({name for arm in arms for name in arm.configuration or ()})
        study, names = results.study, [arm.name for arm in arms]
        view = arms_view(study.id, f"Arms of {study.preset}", at, f"test/{metric}", names, varied)
        return cls(study, sentences, _table(results, arms), tuple(_metrics(arms, metric, at)), view)

    def description(self, experiment: str, parent: str) -> str:
        """Markdown that the parent run's page shows; links are within the UI, whatever its address."""
        from fmim_reports.writing.formats import to_md

        links = (  # first: MLflow folds away all but some lines
            f"[Arms side by side]({arms_page(experiment, self.study.id)}) · "
            f"[Report]({run_page(experiment, parent, 'artifacts', 'report', 'index.html')})"
        )
        head = [links, to_md(self.study.question)]
        answer = "\n".join(f"- {to_md(sentence)}" for sentence in self.sentences)
        return _whole_lines("\n\n".join([*head, answer, self.table]), LONGEST_TAG)


def _whole_lines(text: str, longest: int) -> str:
    """As many lines of a text as there is room for, and where the rest is."""
    if len(text) <= longest:
        return text
    note = "\n\nThe report has the rest."
    return text[: longest - len(note)].rpartition("\n")[0] + note


def _metrics(arms: Sequence[Any], metric: str, at: int) -> Iterator[LoggedValue]:
    """Each arm's means ± SE and what its search cost; nothing of what has no value yet."""
    for arm in arms:
        values = {
            f"test_{metric}": arm.test.stat.mean,
            f"test_{metric}_se": arm.test.stat.se,
            f"validation_{metric}": arm.validation.stat.mean,
            f"validation_{metric}_se": arm.validation.stat.se,
        }
        counted = {"test": arm.test.stat.n, "validation": arm.validation.stat.n}
        cost = {"search_epochs": arm.cost.epochs, "search_device_seconds": arm.cost.device_seconds, "n_s": arm.cost.n_s}
        for name, value in (values | cost).items():
            if value is not None and counted.get(name.partition("_")[0], 1):
                yield f"{name}/{arm.name}", float(value), at, 0


def _table(results: Any, arms: Sequence[Any]) -> str:
    """The arms with what was selected, their means and what their searches cost."""
    from fmim_reports.writing.formats import configuration_text
    from fmim_reports.writing.markdown import markdown
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
