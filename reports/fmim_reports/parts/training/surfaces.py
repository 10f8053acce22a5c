"""The figure of loss surfaces over φ_ap and φ_an with their negative gradients: Figs. 1(b) and 1(c) of the paper."""

from __future__ import annotations

from typing import Annotated, Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from pydantic import Field, ValidationError, model_validator

from fmim_core.config import in_words
from fmim_core.records import DocumentPart, read_json
from fmim_reports.drawing.plotting import NothingToDraw, Plot
from fmim_reports.reading.results import Results
from fmim_reports.writing.captions import alt_text

FILE = "surfaces.json"
ARROWS = 9  # along each axis
# Light enough for the arrows everywhere, in lightness alone, and the same in the page's dark theme, as are the lines.
_COLOURS = LinearSegmentedColormap.from_list("surface", ["#fbfcfd", "#b9d3ea", "#5f9bcf"])
_ARROW, _EPSILON, _BETA = "#111418", "#B84A00", "#7B4FB5"


class SurfaceValues(DocumentPart):
    """A surface as the study wrote it: loss and derivatives on the square grid of `phi`, as lists `[φ_an][φ_ap]`."""

    label: str
    epsilon: float
    beta: float
    configuration: dict[str, Any]
    phi: Annotated[list[float], Field(min_length=2)]
    loss: list[list[float]]
    d_phi_ap: list[list[float]]
    d_phi_an: list[list[float]]

    @model_validator(mode="after")
    def _can_be_drawn(self) -> Self:
        side = len(self.phi)
        if not isinstance(self.configuration.get("lam", 1.0), int | float):
            raise ValueError(f"configuration.lam must be a number (given {self.configuration['lam']!r})")
        if any([len(row) for row in rows] != [side] * side for rows in (self.loss, self.d_phi_ap, self.d_phi_an)):
            raise ValueError(f"loss, d_phi_ap and d_phi_an must have {side} rows of {side} values, as phi has")
        return self

    @property
    def lam(self) -> float | None:
        """Return λ, which only a loss with the term of β has."""
        return self.configuration.get("lam")

    @property
    def margins(self) -> str:
        """Return `ε = 0.25, β = 0.1, λ = 1`, or ε alone."""
        epsilon = f"ε = {self.epsilon:g}"
        return epsilon if self.lam is None else f"{epsilon}, β = {self.beta:g}, λ = {self.lam:g}"


class SurfacesFile(DocumentPart):
    """The file as the study wrote it."""

    sha256: str
    surfaces: Annotated[list[SurfaceValues], Field(min_length=1)]


def read_surfaces(results: Results) -> list[SurfaceValues]:
    """Return the surfaces that the study wrote into OUT/surfaces.json.

    Raises:
        NothingToDraw: there is no such file, or it holds no surfaces.
    """
    path = results.out / FILE
    if not path.is_file():
        raise NothingToDraw(f"{FILE} is missing: run the study again to write it (no trial is repeated)")
    try:
        return SurfacesFile.model_validate(read_json(path, FILE)).surfaces
    except ValidationError as error:
        raise NothingToDraw(f"{FILE} is malformed: {in_words(error)}: run the study again to rewrite it") from error
    except ValueError as error:
        raise NothingToDraw(f"{error}, and run the study again to rewrite it") from error


def surfaces_plot(results: Results) -> Plot:
    """Draw the loss of a triplet as colour, the way a descent step moves φ_ap and φ_an as arrows."""
    surfaces = read_surfaces(results)
    norm = Normalize(0, max(np.max(surface.loss) for surface in surfaces))

    def draw(figure: Figure) -> None:
        panels = figure.subplots(1, len(surfaces), sharey=True, squeeze=False)[0]
        images = [_panel(axes, surface, norm) for surface, axes in zip(surfaces, panels, strict=True)]
        panels[0].set_ylabel("$φ_{an}$")
        bar = figure.colorbar(images[0], ax=list(panels), location="bottom", aspect=40, pad=0.02)
        bar.set_label("loss of one triplet")
        bar.outline.set_visible(False)
        shown = {line.get_label(): line for axes in panels for line in axes.get_lines()}
        figure.legend(list(shown.values()), list(shown), loc="outside upper center", ncols=2)

    titles = " and ".join(surface.label for surface in surfaces)
    # Not a caption of the data: nothing here was measured.
    text = (
        f"Loss surfaces of {titles} over the similarity of anchor and positive (φ_ap) and anchor and negative (φ_an), "
        "as in Figs. 1(b) and 1(c) of the paper. Colour: the loss of one triplet. Arrows: its negative gradient, on "
        "one scale in all panels. Dashed: the borders of the regions. Computed from the loss functions, without data."
    )
    alt = alt_text(
        f"{one.label} ({one.margins}): 0 on {100 * np.mean(np.equal(one.loss, 0)):.0f} % of the square, highest "
        f"{np.max(one.loss):.2f}"
        for one in surfaces
    )
    return Plot("loss_surfaces", "Loss surfaces and negative gradients", text, alt, 3.1, draw, of_data=False)


def _panel(axes: Axes, surface: SurfaceValues, norm: Normalize) -> AxesImage:
    phi = np.asarray(surface.phi)
    half = (phi[1] - phi[0]) / 2
    frame = (phi[0] - half, phi[-1] + half, phi[0] - half, phi[-1] + half)
    image = axes.imshow(
        surface.loss, cmap=_COLOURS, norm=norm, origin="lower", extent=frame, interpolation="nearest", aspect="auto"
    )
    # Arrows start inside the borders of the picture, so that none is cut off.
    places = np.linspace(0, len(phi) - 1, ARROWS + 2).round().astype(int)[1:-1]
    across, up = (-np.asarray(each)[np.ix_(places, places)] for each in (surface.d_phi_ap, surface.d_phi_an))
    across, up = (np.where(np.hypot(across, up) > 0, part, np.nan) for part in (across, up))
    x, y = np.meshgrid(phi[places], phi[places])
    axes.quiver(x, y, across, up, color=_ARROW, angles="xy", scale_units="xy", scale=12, width=0.009, pivot="mid")
    axes.plot(phi, phi - surface.epsilon, color=_EPSILON, ls=(0, (4, 2)), label="$φ_{an} = φ_{ap} − ε$")
    if surface.lam is not None:
        axes.axhline(surface.beta, color=_BETA, ls=(0, (1.5, 1.2)), lw=1.5, label="$φ_{an} = β$")
    axes.set(xlim=(-1, 1), ylim=(-1, 1), xlabel="$φ_{ap}$", xticks=(-1, -0.5, 0, 0.5, 1), yticks=(-1, -0.5, 0, 0.5, 1))
    axes.set_title(surface.label, pad=14)
    axes.text(0, 1.04, surface.margins.replace(" = ", "="), transform=axes.transAxes, fontsize=7)
    axes.grid(False)
    return image
