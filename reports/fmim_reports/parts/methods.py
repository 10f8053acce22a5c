"""The study's methods as paragraphs that are ready for a paper, made from what study.json and the records declare."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from fmim_core.records import SEED, ArmEntry, flat
from fmim_reports.drawing.axes import HOW_FAR
from fmim_reports.page.templates import filled
from fmim_reports.parts.comparisons.difference import ALPHA
from fmim_reports.reading.files import key_of
from fmim_reports.reading.results import Results
from fmim_reports.writing.captions import KEPT
from fmim_reports.writing.formats import SYMBOLS, listed, to_md, to_tex, value_text

_CITED = re.compile(r"\[@(\w+)\]")
_MOST_NAMED = 12  # arms that a sentence can name
_OF_OPTIMIZER = {
    "lr_schedule.name": "learning rate by {}",
    "lr_schedule.each": "learning rate changed after each {}",
    "lr_schedule.warmup_epochs": "warm-up epochs: {}",
    "backbone_lr_factor": "learning rate of the backbone × {:g}",
    "head_lr_factor": "learning rate of the last layer × {:g}",
    "loss_lr_factor": "learning rate of the loss's weights × {:g}",
    "freeze_backbone_epochs": "first epochs with all but the last layer frozen: {}",
    "clip_grad_norm": "gradients clipped to a norm of {:g}",
}
"""What is said of fields of the training that move weights in another way than the paper's."""


@dataclass(frozen=True)
class Citation:
    """A work that a paper cites for a part of the method, which has a `name` unless the study gives it one."""

    name: str
    key: str
    text: str

    @property
    def cited(self) -> str:
        """Return `ResNet-18 [@he2016]`, with what there is of both."""
        return " ".join(filter(None, (self.name, f"[@{self.key}]" if self.key else "")))


@dataclass(frozen=True)
class Methods:
    """Paragraphs in which `[@key]` cites one of the `sources`."""

    paragraphs: tuple[str, ...]
    sources: tuple[Citation, ...]

    @property
    def plain(self) -> tuple[str, ...]:
        """Return the paragraphs as a reader of the page has them, who sees `[key]`."""
        return tuple(_CITED.sub(r"[\1]", paragraph) for paragraph in self.paragraphs)

    @property
    def latex(self) -> str:
        r"""Return paragraphs with \cite{key}, and what the keys stand for as comments."""
        text = (_CITED.sub(r"\\cite{\1}", to_tex(paragraph)) for paragraph in self.paragraphs)
        return "\n\n".join(text) + "\n\n" + "".join(f"% {one.key}: {one.text}\n" for one in self.sources)

    @property
    def markdown(self) -> str:
        """Return paragraphs with `[@key]`, as Pandoc cites, and a list of what the keys stand for."""
        text = (re.sub(r"\\\[@(\w+)\\\]", r"[@\1]", to_md(paragraph)) for paragraph in self.paragraphs)
        return "\n\n".join(text) + "\n\n" + "".join(f"- {one.key}: {to_md(one.text)}\n" for one in self.sources)


def methods(results: Results) -> Methods:
    """Say how data were split, arms searched, trained, tested and compared, and with which software.

    The template has a sentence a line, and an empty line between paragraphs.
    """
    study, arms, environment = results.study, results.arms, results.study.environment
    trained, versions = _settings(results), {"python": "Python", "torch": "PyTorch"}
    ours = [arm for arm in arms if not arm.trainer]
    if any(arm.loss_kind == "pml" for arm in ours):
        versions["pytorch_metric_learning"] = "PyTorch Metric Learning"
    losses = {arm.loss: cited("loss", arm.loss_kind) for arm in ours}
    records = [trial.record for trial in results.trials if trial.stage == "replicate" and trial.record]
    tested = [one.config for one in records if one.config and "trainer" not in one.config]
    varied = dict.fromkeys((one.setting, one.factor) for arm in arms for one in arm.variations)
    text = filled(
        "methods.txt.j2",
        results=results,
        study=study,
        data=study.data,
        arms=arms,
        metric=results.metric.label,
        margin=f"{100 * results.equivalence_margin:g}",
        level=f"{ALPHA:g}",
        most_named=_MOST_NAMED,
        how_far=HOW_FAR,
        searches=[_search(arm) for arm in arms if arm.n_s > 1],
        variations=["another seed" if name == SEED else f"{name} × {factor:g}" for name, factor in varied],
        losses=[" ".join(filter(None, both)) for both in losses.items()],
        margins=[cited("margins", kind) for kind in dict.fromkeys(a.margins_kind for a in ours) if kind != "none"],
        optimizers=list(dict.fromkeys(map(_optimizer, tested or [study.train]))),
        networks=[cited("model", str(kind)) for kind in trained.get("model.kind", ())],
        transforms=[listed(map(_transform, given)) for given in trained.get("augmentation.transforms", ())],
        kept=_value([KEPT[keep] for keep in trained["keep"]]),
        train={name.replace(".", "_"): _value(given) for name, given in trained.items()},
        software=[f"{name} {environment[key]}" for key, name in versions.items() if key in environment],
        commit=environment.get("git_commit", ""),
        devices=list(dict.fromkeys(trial.record.computed_on for trial in results.trials if trial.record)),
        listed=listed,
        cited=cited,
    ).decode()
    paragraphs = tuple(" ".join(one.split("\n")) for one in text.strip().split("\n\n"))
    keys = dict.fromkeys(key for paragraph in paragraphs for key in _CITED.findall(paragraph))
    by_key = {source.key: source for source in _sources().values()}
    return Methods(paragraphs, tuple(by_key[key] for key in keys if key in by_key))


@cache
def _sources() -> Mapping[str, Citation]:
    """Return `paper/sources.csv`, by what is cited: `loss.triplet`."""
    with resources.files("fmim_reports.paper").joinpath("sources.csv").open("r", encoding="utf-8") as stream:
        return {row["what"]: Citation(row["name"], row["key"], row["source"]) for row in csv.DictReader(stream)}


def cited(part: str, kind: str) -> str:
    """Return how to cite a kind of loss, margins, model or searcher; a user's own has its name alone."""
    return _sources().get(f"{part}.{kind}", Citation("" if part == "loss" else kind, "", "")).cited


def _search(arm: ArmEntry) -> str:
    """Say how an arm was searched."""
    space = ", ".join(_range(name, values) for name, values in arm.space.items())
    return f"{arm.label}: {cited('searcher', arm.searcher['kind'])}{f' over {space}' if space else ''}, N_s = {arm.n_s}"


def _range(name: str, values: Any) -> str:
    """Return `ε of 0.1 and 0.5`, or `ε from 0.05 to 1`."""
    symbol = SYMBOLS.get(name, name)
    if isinstance(values, Mapping):
        scale = ", logarithmically" if values["scale"] == "log" else ""
        return f"{symbol} from {value_text(name, values['low'])} to {value_text(name, values['high'])}{scale}"
    return f"{symbol} of {listed([value_text(name, value) for value in values])}"


def _settings(results: Results) -> Mapping[str, list[Any]]:
    """Return each field of the training with the values that it has in records; before that, those declared."""
    declared = {name: [value] for name, value in flat(results.study.train)}
    found: dict[str, dict[str, Any]] = {}
    known = ((trial, trial.record.config) for trial in results.trials if trial.record and trial.stage != "reference")
    trained = ((trial, config) for trial, config in known if config and "trainer" not in config)
    for config in {(trial.arm, key_of(trial.configuration)): config for trial, config in trained}.values():
        for name, value in flat(config):
            found.setdefault(name, {}).setdefault(str(value), value)
    return declared | {name: list(values.values()) for name, values in found.items()}


def _optimizer(config: Mapping[str, Any]) -> str:
    """Return how a training moved the weights: the optimizer's name, and all that is not as in the paper."""
    own, said = config.get("optimizer", {}), []
    for field, value in flat(config):
        part, params, name = field.partition(".params.")
        if params and part in ("optimizer", "lr_schedule"):
            said.append(f"{name} {value}")
        elif field in _OF_OPTIMIZER and value and value != "auto":
            said.append(_OF_OPTIMIZER[field].format(value))
    name = f"PyTorch's {own['name']}" if "name" in own else cited("optimizer", own.get("kind", "adam"))
    return f"{name} ({'; '.join(said)})" if said else name


def _transform(given: Mapping[str, Any]) -> str:
    """Return a transform of torchvision with the parameters that it was given."""
    own = {name: value for name, value in given.items() if name not in ("name", "params")}
    said = ", ".join(f"{name} {_value([value])}" for name, value in (given["params"] | own).items())
    return f"{given['name']} ({said})" if said else str(given["name"])


def _value(given: list[Any]) -> str:
    """Return a field's value, or all of several; a pair of bounds as `0.5 to 1.5`."""
    texts = [" to ".join(map(str, one)) if isinstance(one, list | tuple) else str(one) for one in given]
    return texts[0] if len(texts) == 1 else f"{listed(texts, 'or')} (by arm)"
