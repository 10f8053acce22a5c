"""The embedded cohort: synthetic knee radiographs of people who age, so that a study runs without a download.

A knee is a table of traits (widths, angles, density, trabecular texture) drawn once per person and varied a little
per side. With the years t since baseline the traits and a smooth warp drift by an amount that grows as sqrt(t),
partly alike in everybody and partly personal; some knees develop osteoarthritis besides. Every film adds its own
position, exposure, sharpness and grain. Nothing is stored: an image is a function of (seed, subject, side, months),
so it depends neither on how many other images exist nor on the order in which they are read.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fmim_core.data.sets.phantom_config import PhantomConfig
from fmim_core.data.source import Source, SourceDescription
from fmim_core.fingerprint import fingerprint
from fmim_core.seeding import derive_seed

VERSION = 1  # raise it whenever a pixel may change: banks of an older generator are then made anew
Array = NDArray[np.floating]

# Mean and spread over people, and how many spreads the mean drifts per sqrt(year). Lengths are in half image widths,
# with x to the lateral side, y to the foot and the joint line near y = 0.
TRAITS = {
    "femur_shaft": (0.265, 0.04, 0.1),
    "femur_width": (0.56, 0.045, 0.05),
    "femur_flare": (-0.46, 0.07, 0.0),
    "femur_slope": (0.10, 0.025, 0.0),
    "condyle_curve": (0.30, 0.10, 0.0),
    "condyle_skew": (0.02, 0.02, 0.0),
    "notch_depth": (0.17, 0.045, 0.0),
    "notch_width": (0.27, 0.05, -0.05),
    "valgus": (0.06, 0.05, -0.1),
    "tibia_shaft": (0.245, 0.035, 0.1),
    "tibia_width": (0.57, 0.04, 0.05),
    "tibia_flare": (0.40, 0.07, 0.0),
    "tibia_slope": (0.12, 0.03, 0.0),
    "tibia_tilt": (0.0, 0.025, 0.0),
    "tibia_bow": (0.0, 0.05, 0.0),
    "spine_height": (0.06, 0.02, 0.1),
    "spine_gap": (0.14, 0.04, 0.0),
    "joint_space": (0.09, 0.022, -0.15),
    "fibula_x": (0.48, 0.05, 0.0),
    "fibula_top": (0.30, 0.06, 0.0),
    "fibula_width": (0.078, 0.018, 0.0),
    "patella_x": (0.02, 0.05, 0.0),
    "patella_y": (-0.40, 0.08, 0.0),
    "patella_size": (0.27, 0.03, 0.0),
    "scar_femur": (-0.27, 0.05, 0.0),
    "scar_tibia": (0.27, 0.05, 0.0),
    "scar_strength": (0.07, 0.035, -0.1),
    "density_femur": (1.0, 0.14, -0.2),
    "density_tibia": (1.0, 0.14, -0.2),
    "density_fibula": (0.25, 0.06, -0.2),
    "marrow": (0.35, 0.12, 0.15),
    "cortex": (0.50, 0.14, -0.15),
    "flesh_width": (0.92, 0.08, 0.1),
    "fat": (0.16, 0.06, 0.15),
    "flesh": (0.45, 0.08, 0.1),
    "grain_size": (8.0, 1.7, -0.1),
    "grain_angle": (0.0, 0.3, 0.0),
    "grain_contrast": (0.20, 0.065, 0.1),
    "grain_crossing": (0.6, 0.25, -0.1),
}
_MEAN, _SPREAD, _DRIFT = (np.array(column) for column in zip(*TRAITS.values(), strict=True))
_SIDE_SHARE = 0.02  # of a trait's variance lies between the two knees of one person
_WAVES = 60  # plane waves that make the trabecular texture


def _stream(*key: object) -> np.random.Generator:
    """Return a generator of its own for `key`: equal keys give equal numbers, whatever else was drawn before."""
    return np.random.default_rng(derive_seed("phantom", *key))


class PhantomSource(Source):
    """A source that draws its images; its index has sex, age, grade and disease (a grade above 1, as for the OAI)."""

    threads = 1  # many small array operations: several threads would only take turns, and lose time by that

    def __init__(self, config: PhantomConfig | None = None) -> None:
        self.config = config or PhantomConfig()
        settings = self.config.model_dump(mode="json")
        self.description = SourceDescription(
            name="phantom",
            kind="phantom",
            synthetic=True,
            about="Synthetic knee phantoms drawn by a program, not radiographs: scores say nothing about patients.",
            details={"generator_version": VERSION, **settings},
        )
        self.index = _cohort(self.config)
        self.fingerprint = fingerprint({"phantom": VERSION, "config": settings})
        self._keys = list(zip(*(self.index[name] for name in ("subject", "side", "months")), strict=True))

    def read(self, row_number: int, size: int) -> NDArray[np.uint8]:
        """Return the image of that row of the index, drawn as grey uint8 `(size, size)`."""
        subject, side, months = self._keys[row_number]
        image = _film(self.config, subject, side, months, size)
        return image if side == "L" or self.config.mirror_right else image[:, ::-1]


def _cohort(config: PhantomConfig) -> pd.DataFrame:
    """Return one row an image: subject by subject, side by side, visit by visit."""
    rows = []
    for split, count in (("train", config.train_subjects), ("test", config.test_subjects)):
        for subject in (f"{split}-{k:04d}" for k in range(count)):
            person = _stream(config.seed, subject, "person")
            age, sex = float(person.integers(45, 80)), str(person.choice(["F", "M"]))
            attended = person.random(len(config.months)) >= config.missed
            visits = [m for m, came in zip(config.months, attended, strict=True) if came or m == 0]
            for side in ("L", "R"):
                onset, rate = _course(config, subject, side)
                for months in visits:
                    grade = int(np.clip(onset + rate * months / 12, 0, 4))
                    about = (sex, f"{age + months / 12:g}", "yes" if grade > 1 else "no", str(grade))
                    rows.append((f"{subject}_{side}_{months:03d}", subject, side, float(months), split, *about))
    columns = ["image", "subject", "side", "months", "split", "sex", "age", "disease", "grade"]
    return pd.DataFrame(rows, columns=columns)


def _course(config: PhantomConfig, subject: str, side: str) -> tuple[float, float]:
    """Return the osteoarthritis of a knee: grade at baseline and grades per year, on a scale of 0 to 4."""
    both, own = _stream(config.seed, subject, "course"), _stream(config.seed, subject, side, "course")
    onset = 0.5 + 0.9 * both.normal() + 0.5 * own.normal()
    rate = 0.22 * max(0.0, 0.8 * both.normal() + 0.6 * own.normal() - 0.2)
    return onset, config.ageing * rate


def _anatomy(config: PhantomConfig, subject: str, side: str, years: float) -> SimpleNamespace:
    """Return the traits of a knee `years` after baseline, its texture waves and warp, all moving with sqrt(years)."""
    person, knee = _stream(config.seed, subject, "anatomy"), _stream(config.seed, subject, side, "anatomy")
    moved = config.ageing * float(np.sqrt(years))

    def mix(*shape: int) -> NDArray[np.float64]:
        own = np.sqrt(_SIDE_SHARE) * knee.normal(size=shape)
        return np.sqrt(1 - _SIDE_SHARE) * person.normal(size=shape) + own

    z = mix(len(TRAITS)) + moved * (0.65 * _DRIFT + 0.10 * mix(len(TRAITS)))
    z = 2.3 * np.tanh(z / 1.3)  # nearly uniform over people: distinct, yet nobody is a monster
    a = SimpleNamespace(**dict(zip(TRAITS, (_MEAN + _SPREAD * z).tolist(), strict=True)))
    onset, rate = _course(config, subject, side)
    a.disease = min(max(onset + rate * years, 0.0), 4.0) / 4
    wave = np.arange(_WAVES)
    across = np.where(wave % 3 == 0, 1.0, 0.0)
    angle = a.grain_angle + 0.3 * mix(_WAVES) + across * np.pi / 2
    octave = 2.0 ** (wave % 4 - 0.5)
    cycles = a.grain_size * octave * np.exp(0.2 * mix(_WAVES))
    phase = 2 * np.pi * person.random(_WAVES) + moved * 0.25 * mix(_WAVES)
    height = a.grain_contrast * (1 + across * (a.grain_crossing - 1)) / octave**0.5
    a.waves = np.stack([cycles * np.cos(angle), cycles * np.sin(angle), phase, height])
    a.warp = 0.0075 * moved * (_stream("warp").normal(size=(2, 3)) + mix(2, 3))
    return a


def _film(config: PhantomConfig, subject: str, side: str, months: float, size: int) -> NDArray[np.uint8]:
    """Position the knee, add up what the rays pass, expose, develop."""
    a = _anatomy(config, subject, side, months / 12)
    shot = _stream(config.seed, subject, side, int(months), "acquisition")
    k = config.acquisition
    turn, scale, right, down, leg = (k * shot.normal(0, (0.010, 0.005, 0.010, 0.010, 0.003))).tolist()
    gain, gamma, fog, blur = (k * shot.normal(0, (0.014, 0.022, 0.004, 0.002))).tolist()
    grain = k * abs(float(shot.normal(0.012, 0.004)))
    rims = (1.01 - k * shot.normal(0.01, 0.02, size=4).clip(0, None)).tolist()

    pixel = 2 / size
    line = (np.arange(size, dtype=np.float32) + 0.5) * pixel - 1
    u, v = line[None, :], line[:, None]
    c, s = (1 + scale) * float(np.cos(turn)), (1 + scale) * float(np.sin(turn))
    soft = float(np.hypot(pixel, 0.015 + abs(blur)))
    light = 1 - np.exp(-_attenuation(a, c * u - s * v - right, s * u + c * v - down, pixel, soft, leg))
    light = (0.02 + fog + (1.13 + gain) * light).clip(0, 1) ** float(np.exp(gamma))
    light = light + grain * shot.standard_normal(light.shape, dtype=np.float32)
    for edge, along in zip(rims, (u, -u, v, -v), strict=True):  # the collimator's leaves
        light = light * _inside(edge - along, pixel)
    return (255 * light.clip(0, 1) + 0.5).astype(np.uint8)


def _attenuation(a: SimpleNamespace, x: Array, y: Array, pixel: float, soft: float, leg: float) -> Array:
    """Sum up the layers that the rays pass at `(x, y)`: flesh and four bones; `leg` turns the leg inward."""
    (wa, wb, wc), (wd, we, wf) = a.warp.tolist()
    x = x + wa * np.sin(2.2 * y + 0.5) + wb * np.sin(3.1 * x - 1) + wc * np.sin(2.5 * (x + y))
    y = y + wd * np.sin(2.2 * x + 0.5) + we * np.sin(3.1 * y - 1) + wf * np.sin(2.5 * (x - y))
    texture = 1 + _texture(a, x, y, soft)
    worn = a.disease * np.exp(-((y / 0.14) ** 2) - ((x + 0.3) / 0.25) ** 2)  # sclerosis, on the medial side
    far = np.abs(y).clip(0.3, 1) - 0.3  # cortex is thick along a shaft, around marrow, and thin near the joint

    total = 0.0 * x
    for width, share in ((a.flesh_width, 0.45), (a.flesh_width - a.fat, 0.55)):
        width = width - 0.1 * y + 0.03 * np.sin(4 * y)
        total = total + share * a.flesh * np.sqrt((1 - (x / width) ** 2).clip(0, None))
    for depth, density, scar, bend in (
        (_femur(a, x, y), a.density_femur, a.scar_femur, 0.25),
        (_tibia(a, x, y), a.density_tibia, a.scar_tibia, -0.25),
    ):
        depth = _distance(depth, pixel)
        body = 0.75 * (texture + 0.5 * worn) * (1 - a.marrow * far / 0.7)
        bone = body * (1 - 0.55 * np.exp(-depth.clip(0, None) / 0.1))
        bone = bone + _rim(depth, 0.028 + 0.05 * far, soft) * a.cortex * (0.5 + 0.9 * far)
        bone = bone + a.scar_strength * np.exp(-(((y - scar - bend * x * x) / (soft + 0.006)) ** 2))
        total = total + density * _inside(depth, soft) * bone
    depth = _fibula(a, x - 3 * leg, y)
    bone = a.density_fibula * texture + 0.4 * a.cortex * _rim(depth, 0.025, soft)
    total = total + _inside(depth, soft) * bone
    depth = a.patella_size - np.sqrt((x - a.patella_x - 4 * leg) ** 2 + (0.9 * (y - a.patella_y)) ** 2)
    return total + _inside(depth, 2 * soft) * (0.10 + 0.06 * _rim(depth, 0.03, soft))


def _femur(a: SimpleNamespace, x: Array, y: Array) -> Array:
    """Return the depth below the femur's surface, positive inside: a flaring shaft above two condyles and the notch."""
    x = x + a.valgus * (y + 0.1)
    flare = 0.5 + 0.5 * np.tanh(0.5 * (y - a.femur_flare) / a.femur_slope)
    half = a.femur_shaft + (a.femur_width - a.femur_shaft) * flare
    half = half + 0.09 * a.disease * np.exp(-(((y + 0.08) / 0.05) ** 2))  # osteophytes
    p = x / half
    floor = -a.condyle_curve * (np.abs(p) - 0.52) ** 2 - a.notch_depth * np.exp(-(np.abs(p / a.notch_width) ** 3))
    return _least(half - np.abs(x), floor - a.condyle_skew * np.tanh(3 * p) - y, 0.14)


def _tibia(a: SimpleNamespace, x: Array, y: Array) -> Array:
    """Return the depth below the tibia's surface: a plateau with two spines, lifted where cartilage is lost."""
    x = x - a.tibia_bow * (y - 0.1)
    flare = 0.5 + 0.5 * np.tanh(0.5 * (a.tibia_flare - y) / a.tibia_slope)
    half = a.tibia_shaft + (a.tibia_width - a.tibia_shaft) * flare
    half = half + 0.09 * a.disease * np.exp(-(((y - 0.12) / 0.05) ** 2))  # osteophytes
    q = x / half
    spines = np.exp(-(((q - a.spine_gap) / 0.1) ** 2)) + 1.2 * np.exp(-(((q + a.spine_gap) / 0.1) ** 2))
    space = a.joint_space * (1 - a.disease * (0.45 - 0.5 * np.tanh(3 * q))).clip(0.1, None)
    roof = space + a.tibia_tilt * q + 0.1 * (np.abs(q) - 0.5) ** 2 - a.spine_height * spines
    return _least(half - np.abs(x), y - roof, 0.06)


def _fibula(a: SimpleNamespace, x: Array, y: Array) -> Array:
    """Return the depth below the fibula's surface: a thin shaft under a thicker head."""
    x = x - a.fibula_x - 0.05 * (y - 0.3)
    half = a.fibula_width * (1 + 0.5 * np.exp(-(((y - a.fibula_top - 0.1) / 0.13) ** 2)))
    return _least(half - np.abs(x), y - a.fibula_top - 2 * np.abs(x + 0.03) ** 1.5, 0.06)


def _texture(a: SimpleNamespace, x: Array, y: Array, soft: float) -> Array:
    """Return trabeculae: a sum of plane waves `(cycles in x, cycles in y, phase, height)`; blurred ones fade out."""
    waves = a.waves.copy()
    waves[3] *= np.exp(-(waves[0] ** 2 + waves[1] ** 2) * (0.9 * soft) ** 2) * np.sqrt(6 / _WAVES)
    waves[:2] *= np.pi  # an image is two units wide
    total = 0.0 * x
    for fx, fy, phase, height in waves[:, waves[3] > 1e-3].T.tolist():
        total = total + height * np.cos(fx * x + fy * y + phase)
    return total


def _distance(depth: Array, pixel: float) -> Array:
    """Return `depth` made a distance in image units: divided by the length of its gradient."""
    down, right = np.gradient(depth, pixel)
    return depth / np.sqrt(down**2 + right**2 + 0.05)


def _rim(depth: Array, thickness: Array | float, soft: float) -> Array:
    """Return a bright line of the given thickness just below the surface."""
    return np.exp(-(((depth - thickness) / (thickness + 0.4 * soft)) ** 2))


def _inside(depth: Array, soft: float) -> Array:
    """Return 0 outside, 1 inside, a straight ramp of width `soft` between."""
    return (depth / soft + 0.5).clip(0, 1)


def _least(a: Array, b: Array, radius: float) -> Array:
    """Return min(a, b) with the corner rounded off."""
    return 0.5 * (a + b - np.sqrt((a - b) ** 2 + radius * radius))
