"""The study's methods as paragraphs that are ready for a paper, made from what study.json and the records declare."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from fmim_core.records import ArmEntry, flat, without_controls
from fmim_reports.parts.comparisons.difference import ALPHA
from fmim_reports.parts.comparisons.words import margin_text
from fmim_reports.reading.once import once
from fmim_reports.reading.plan import key_of
from fmim_reports.reading.results import Results
from fmim_reports.writing.formats import SYMBOLS, to_md, to_tex, value_text

_CITED = re.compile(r"\[@(\w+)\]")
_LISTED = 12  # arms that a sentence can name


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
    """Say how data were split, arms searched, trained, tested and compared, and with which software."""
    paragraphs = tuple(
        " ".join(filter(None, map(without_controls, sentences)))
        for sentences in (_data(results), _protocol(results), _training(results), _statistics(results))
    )
    keys = dict.fromkeys(key for paragraph in paragraphs for key in _CITED.findall(paragraph))
    by_key = {source.key: source for source in _sources().values()}
    return Methods(paragraphs, tuple(by_key[key] for key in keys if key in by_key))


@cache
def _sources() -> Mapping[str, Citation]:
    """Return `paper/sources.csv`, by what is cited: `loss.triplet`."""
    with resources.files("fmim_reports.paper").joinpath("sources.csv").open("r", encoding="utf-8") as stream:
        return {row["what"]: Citation(row["name"], row["key"], row["source"]) for row in csv.DictReader(stream)}


def _source(part: str, kind: str) -> Citation:
    """Return what is known of a kind of loss, margins, model or searcher; a user's own has its name alone."""
    return _sources().get(f"{part}.{kind}", Citation("" if part == "loss" else kind, "", ""))


def _data(results: Results) -> Iterable[str]:
    data = results.study.data
    development, test = data.development, data.test
    release = f", release {data.release}" if data.release else ""
    yield f"The data ({data.name}{release}) are: {data.about.rstrip('.')}."
    yield (
        f"Of {data.images} images of {data.image_size} × {data.image_size} pixels, {development.images} of "
        f"{development.subjects} subjects were used for development, and {test.images} of {test.subjects} other "
        "subjects for the test alone."
    )
    without = f", {test.queries_without_match} of them without a match there" if test.queries_without_match else ""
    yield f"The test set has {test.queries} queries and a gallery of {test.gallery} images{without}."
    if results.dated:
        yield f"Queries are grouped by {results.interval.after_baseline}."


def _protocol(results: Results) -> Iterable[str]:
    study, arms = results.study, results.arms
    yield f"{len(arms)} arms were compared" + (
        f": {_listed([a.label for a in arms])}." if len(arms) <= _LISTED else "."
    )
    if not results.searched:
        yield "Nothing was searched: each arm's configuration was given beforehand."
    else:
        yield (
            f"An arm's configuration was selected by its mean validation {results.metric.label} in "
            f"{len(study.folds)}-fold cross-validation on the development subjects; no subject was in two folds."
        )
        yield from _searches(arms)
    if study.search_splits > 1:
        yield f"The whole search was repeated on {study.search_splits} splits into folds."
    chosen = "selected configuration" if results.searched else "configuration"
    subjects = " on all development subjects"
    if study.test_protocol == "fold_ensemble":
        models = study.models_per_replicate
        subjects = f", {models} models a seed, each without one fold's subjects, whose distances were averaged"
    kept = _value(_settings(results)["keep"]).replace("best", "best validation")
    seeds = f"{results.seeds_text} fresh seeds{subjects}"
    yield f"Each arm's {chosen} was trained with {seeds}; the model of the {kept} epoch was tested, once."
    if study.references:
        yield f"Beside the arms stand, without any training: {_listed([one.label for one in study.references])}."


def _searches(arms: Iterable[ArmEntry]) -> Iterable[str]:
    """Say how each arm with something to select was searched."""
    found = []
    for arm in arms:
        space = ", ".join(_range(name, values) for name, values in arm.space.items())
        over = f" over {space}" if space else ""
        if arm.n_s > 1:
            found.append(f"{arm.label}: {_source('searcher', arm.searcher['kind']).cited}{over}, N_s = {arm.n_s}")
    if found:
        yield f"The searches, with N_s configurations each, were: {'; '.join(found)}."


def _range(name: str, values: Any) -> str:
    """Return `ε of 0.1 and 0.5`, or `ε from 0.05 to 1`."""
    symbol = SYMBOLS.get(name, name)
    if isinstance(values, Mapping):
        scale = ", logarithmically," if values["scale"] == "log" else ""
        return f"{symbol} from {value_text(name, values['low'])} to {value_text(name, values['high'])}{scale}"
    return f"{symbol} of {_listed([value_text(name, value) for value in values])}"


def _training(results: Results) -> Iterable[str]:
    losses = {arm.loss: _source("loss", arm.loss_kind) for arm in results.arms}
    yield f"The losses were {_listed([' '.join(filter(None, (name, one.cited))) for name, one in losses.items()])}."
    kinds = dict.fromkeys(arm.margins_kind for arm in results.arms if arm.margins_kind != "none")
    if kinds:
        yield f"Margins were set by {_listed([_source('margins', kind).cited for kind in kinds])}."
    found = _settings(results)
    networks = [_source("model", str(kind)).cited for kind in found["model.kind"]]
    values = {name.replace(".", "_"): _value(given) for name, given in found.items()}
    yield f"The network was {_listed(networks, 'or')}, with embeddings of {values['model_embedding_dim']} dimensions."
    yield (
        "It was trained by {adam} with a learning rate of {learning_rate} and a weight decay of {weight_decay}, for "
        "{epochs} epochs of batches of {batches_subjects_per_batch} subjects × {batches_images_per_subject} images."
    ).format(adam=_source("optimizer", "adam").cited, **values)
    yield (
        "Images were augmented by Gaussian noise (probability {augmentation_noise_p}, standard deviation up to "
        "{augmentation_noise_std}), rotation by up to {augmentation_rotation}°, random crop to {augmentation_crop} "
        "pixels, gamma of {augmentation_gamma} (probability {augmentation_gamma_p}); evaluated images had a "
        "centre crop."
    ).format(**values)


@once
def _settings(results: Results) -> Mapping[str, list[Any]]:
    """Return each field of the training with the values that it has in records; before that, those declared."""
    declared = {name: [value] for name, value in flat(results.study.train)}
    found: dict[str, dict[str, Any]] = {}
    trained = ((trial, trial.record.config) for trial in results.trials if trial.record and trial.record.config)
    for config in {(trial.arm, key_of(trial.configuration)): config for trial, config in trained}.values():
        for name, value in flat(config):
            found.setdefault(name, {}).setdefault(str(value), value)
    return declared | {name: list(values.values()) for name, values in found.items()}


def _value(given: list[Any]) -> str:
    """Return a field's value, or all of several; a pair of bounds as `0.5 to 1.5`."""
    texts = [" to ".join(map(str, one)) if isinstance(one, list | tuple) else str(one) for one in given]
    return texts[0] if len(texts) == 1 else f"{_listed(texts, 'or')} (by arm)"


def _statistics(results: Results) -> Iterable[str]:
    validation = " and of the validation metric over folds" if results.searched else ""
    yield (
        f"We report means of the test {results.metric.label} over seeds{validation} with their standard errors "
        "(s/√n, where s has n − 1 degrees of freedom)."
    )
    count = len(results.comparisons)
    if count:
        yield (
            f"{'The difference' if count == 1 else f'Each of {count} differences'} declared before the study ran was "
            "paired by seed and query; its 95 % t interval and two-sided test cover seeds and subjects as crossed "
            "random factors, or seeds alone where values by query were not recorded. Equivalence within "
            f"±{margin_text(results.equivalence_margin)} was tested by two one-sided tests "
            f"{_source('test', 'tost').cited}."
        )
    if count > 1:
        yield (
            "P values were corrected by Holm's method over the differences and, separately, over the equivalences "
            f"{_source('test', 'holm').cited}, at a level of {ALPHA:g}."
        )
    names, environment = {"python": "Python", "torch": "PyTorch"}, results.study.environment
    used = [f"{name} {environment[key]}" for key, name in names.items() if key in environment]
    commit = environment.get("git_commit", "")
    code = f" (commit {commit[:12]} of this code)" if commit else ""
    devices = dict.fromkeys(t.record.cost.device for t in results.trials if t.record)
    on = f" on {_listed(list(devices))}" if devices else ""
    if used:
        yield f"Models were trained with {_listed(used)}{code}{on}."


def _listed(texts: list[str], last: str = "and") -> str:
    """Return `a, b and c`."""
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {last} {texts[-1]}" if texts else "none"
