"""Numbers and names as text, and the same text as HTML, Markdown and LaTeX."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Collection, Iterable, Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any

from fmim_core.records import without_controls

if TYPE_CHECKING:
    from fmim_reports.stats import Bounded, MeanSE, Needed

SYMBOLS = {"epsilon": "ε", "beta": "β", "lam": "λ", "k_delta": "K_Δ", "k_an": "K_an", "margin_degrees": "margin"}
UNITS = {"margin_degrees": "°"}
NOTHING = "–"
DATA = " Data: "  # ends a caption, before what the data are

# What pdflatex needs for the signs that reports use; every other text is escaped character by character.
_TEX = str.maketrans({
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}",
    **{sign: "\\" + sign for sign in "&%$#_{}"},
    "ε": r"$\varepsilon$", "β": r"$\beta$", "λ": r"$\lambda$", "Δ": r"$\Delta$", "φ": r"$\varphi$",
    "±": r"$\pm$", "×": r"$\times$", "−": "$-$", "≥": r"$\geq$", "≤": r"$\leq$", "√": r"$\surd$",
    "–": "--", "—": "---", "…": r"\dots{}", "’": "'", "·": r"$\cdot$", "\u00a0": "~", "°": r"$^{\circ}$", "�": "?",
})  # fmt: skip
# Symbols with an index: N_s, K_Δ, K_an, m_neg, m_pos stay one symbol in every format.
_INDEXED = re.compile(r"\b([NKm])_(s|Δ|an|neg|pos)\b")
# In figures: the formulas that this package writes, any other dollar sign that is not escaped already, and symbols.
_FORMULA = re.compile(
    r"(\$[NKmφ]_(?:\{(?:an|ap|neg|pos)\}|[sΔ])(?: = (?:β|φ_\{ap\} − ε))?\$|\$\\mathdefault\{[\d^{}−.]*\}\$)|(?<!\\)\$|"
    + _INDEXED.pattern
)
_LINE = 70  # characters of a line in a figure
_TEX_INDEX = {"Δ": r"\Delta", "an": r"\mathrm{an}", "neg": r"\mathrm{neg}", "pos": r"\mathrm{pos}"}


def decimal(value: float, digits: int) -> str:
    """Return `value` rounded half up, as people do by hand: 85.495 becomes 85.50; not-a-number is written NaN."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else str(value)
    rounded = Decimal(f"{value:.12g}").quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP)
    return f"{rounded:,}".replace("-", "−")


def in_percent(fraction: float, digits: int = 2) -> str:
    """Return a fraction in percent, without the sign: 0.7204 becomes 72.04."""
    return decimal(100 * fraction, digits)


def points(difference: float | None, digits: int = 2) -> str:
    """Return a difference of fractions in percentage points, with its sign: 0.003 becomes +0.30."""
    if difference is None:
        return "n/a"
    text = in_percent(difference, digits)
    return text if text.startswith("−") or math.isnan(difference) else f"+{text}"


def mean_se_text(stat: MeanSE, digits: int = 2, scale: float = 100.0) -> str:
    """Return `72.00 ± 0.71`; `72.00 ± n/a` for one replicate; a dash for none; NaN where a value is not a number."""
    if stat.n == 0:
        return NOTHING
    se = "n/a" if stat.se is None else decimal(stat.se * scale, digits)
    return f"{decimal(stat.mean * scale, digits)} ± {se}"


def bounded_text(found: Bounded) -> str:
    """Return `3.22 (2.01 to 27.97)`, a value with its interval where there is one."""
    if found.value is None:
        return NOTHING
    ends = [decimal(end, 2) for end in (found.low, found.high) if end is not None]
    return decimal(found.value, 2) + (f" ({' to '.join(ends)})" if ends else "")


def needed_text(needed: Needed) -> str:
    """Return `34 (19 to 121)`, with its range; `34 (19 or more)` where at its upper end no number is enough."""
    if needed.low is None:
        return "none"
    best = "none" if needed.seeds is None else decimal(needed.seeds, 0)
    range_ = f"{decimal(needed.low, 0)} or more" if needed.high is None else f"{needed.low:,} to {needed.high:,}"
    return f"{best} ({range_})"


def duration(seconds: float) -> str:
    """Return `12.3 s`, `8 min 15 s`, `2 h 5 min`, `3 d 4 h`."""
    if seconds < 60 - 0.05 or not math.isfinite(seconds):
        return f"{decimal(seconds, 1)} s"
    if seconds < 3600 - 0.5:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    if hours < 24:
        return f"{hours} h {minutes} min"
    days, hours = divmod(round(seconds / 3600), 24)
    return f"{days} d {hours} h"


def p_text(p: float | None) -> str:
    """Return `p = 0.012`, `p < 0.001`, or `p n/a`."""
    if p is None or math.isnan(p):
        return "p n/a"
    return "p < 0.001" if p < 0.001 else f"p = {decimal(p, 3)}"


def configuration_text(configuration: Mapping[str, Any] | None) -> str:
    """Return `ε = 0.5, β = 0.25`, and `λ = 1` for 1.0; a dash when there is nothing to set or nothing is selected."""
    if not configuration:
        return NOTHING
    return ", ".join(f"{SYMBOLS.get(name, name)} = {value_text(name, v)}" for name, v in configuration.items())


def value_text(name: str, value: Any) -> str:
    """Return a hyperparameter's value with its unit: 14.3° for `margin_degrees`."""
    whole = isinstance(value, float) and value.is_integer()
    return f"{int(value) if whole else value}{UNITS.get(name, '')}"


def listed(texts: Iterable[str], last: str = "and") -> str:
    """Return `a, b and c`."""
    *others, end = list(texts) or ["none"]
    return f"{', '.join(others)} {last} {end}" if others else end


def named(names: Collection[str], most: int = 3, noun: str = "arms") -> str:
    """Return `a, b and c`, or `6 arms` where there are more than `most`."""
    return listed(names) if len(names) <= most else f"{len(names)} {noun}"


def to_html(text: str) -> str:
    """Return HTML: escaped, with indices, and no line break inside `ε = 0.5`, `72.00 ± 0.71` or `5 %`."""
    text = re.sub(r" ([=±<]) | (?=%)", lambda m: m[0].replace(" ", "\u00a0"), text)
    return _INDEXED.sub(r"<i>\1</i><sub>\2</sub>", html.escape(without_controls(text)))


def to_tex(text: str) -> str:
    """Return LaTeX for pdflatex: specials escaped, signs in math mode; never an argument of the row's end before."""
    parts, position = ["{}"] if text.startswith(("[", "*")) else [], 0
    for match in _INDEXED.finditer(text):
        index = _TEX_INDEX.get(match[2], match[2])
        parts += [_escape_tex(text[position : match.start()]), f"${match[1]}_{{{index}}}$"]
        position = match.end()
    return "".join([*parts, _escape_tex(text[position:])])


def to_md(text: str) -> str:
    """Return Markdown: signs that would open a cell, a tag, emphasis or a formula are escaped; N_s stays as it is."""
    return re.sub(r"([\\|<>*`\[\]~$&]|(?<!\w)_|_(?!\w))", r"\\\1", without_controls(text).replace("\n", " "))


def to_figure(text: str) -> str:
    """Return text of a figure: N_s as a symbol; a dollar sign is one, but around formulas that this package writes.

    Lines are cut where they would leave no room for what is drawn.
    """
    lines = (line if len(line) <= _LINE else f"{line[: _LINE - 1]}…" for line in without_controls(text).split("\n"))
    return _FORMULA.sub(_in_figure, "\n".join(lines))


def without_data(caption: str) -> str:
    """Return a caption for a page that says once on which data everything is."""
    return caption.partition(DATA)[0]


def _in_figure(found: re.Match[str]) -> str:
    formula, letter, index = found.groups()
    symbol = f"${letter}_{index if len(index) == 1 else f'{{{index}}}'}$" if letter else r"\$"
    return formula or symbol


def _escape_tex(text: str) -> str:
    return without_controls(text).replace("\n", " ").translate(_TEX)
