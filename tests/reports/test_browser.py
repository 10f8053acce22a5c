"""The report as a person sees it: in a real browser, without a screen."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fmim_reports.build import build_report
from tests.support.factories import make_out

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")

MEASURE = """<script>
window.addEventListener("load", () => {
  const page = document.documentElement;
  const broken = [...document.images].filter(i => i.complete && !i.naturalWidth).length;
  document.title = `width=${page.scrollWidth} of ${page.clientWidth}, broken=${broken}`;
});
</script>"""


def visit(url: str, profile: Path, width: int, wait_ms: int = 4000) -> str:
    """The page's HTML after its scripts have run."""
    assert BROWSER is not None
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    command += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    command += [f"--user-data-dir={profile}", f"--window-size={width},900", f"--virtual-time-budget={wait_ms}"]
    return subprocess.run([*command, "--dump-dom", url], capture_output=True, text=True, check=True, timeout=120).stdout


@pytest.mark.slow
@pytest.mark.parametrize("width", [500, 1200])
def test_the_report_fits_the_window_and_shows_its_figures(width: int, tmp_path: Path) -> None:
    """500 px is the narrowest window of a headless Chromium."""
    page = build_report(make_out(tmp_path / "study"))
    probe = page.with_name("probe.html")
    probe.write_text(page.read_text(encoding="utf-8").replace("</head>", MEASURE + "</head>"), encoding="utf-8")
    html = visit(probe.as_uri(), tmp_path / "profile", width)
    found = re.search(r"<title>width=(\d+) of (\d+), broken=(\d+)</title>", html)
    assert found is not None
    scroll, client, broken = map(int, found.groups())
    assert scroll <= client
    assert broken == 0
    assert html.count("<figure") >= 5
