"""No file can bring code of its own: nothing is unpickled from a disk, read from the syntax trees of our sources."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.support.paths import ROOT
from tests.test_layout import PACKAGES

UNPICKLING = {"pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}
LOADERS = {"read_pickle", "Unpickler", "load_state_dict_from_url", "get_state_dict"}
KEYWORDS = {("torch", "load"): ("weights_only", True), ("np", "load"): ("allow_pickle", False)}


def unsafe(tree: ast.AST) -> Iterator[str]:
    """Calls that may run code that is in a file, as they are written."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        owner, name = ast.unparse(node.func.value), node.func.attr
        given = {word.arg: ast.unparse(word.value) for word in node.keywords}
        needed = KEYWORDS.get((owner, name))
        if (
            (owner in UNPICKLING and name in ("load", "loads", "open"))
            or name in LOADERS
            or (needed is not None and given.get(needed[0]) != str(needed[1]))
        ):
            yield ast.unparse(node)


@pytest.mark.parametrize("package", PACKAGES)
def test_nothing_is_unpickled(package: str) -> None:
    calls = {
        path: list(unsafe(ast.parse(path.read_text(encoding="utf-8")))) for path in PACKAGES[package].rglob("*.py")
    }
    assert {str(path.relative_to(ROOT)): found for path, found in calls.items() if found} == {}


def test_each_way_to_unpickle_is_seen() -> None:
    ways = ("pickle.load(f)", "torch.load(f)", "torch.load(f, weights_only=False)", "np.load(f, allow_pickle=True)")
    ways = (
        *ways,
        "np.load(f)",
        "joblib.load(f)",
        "pd.read_pickle(f)",
        "weights.get_state_dict()",
        "pickle.Unpickler(f)",
    )
    assert [list(unsafe(ast.parse(way))) for way in ways] == [[way] for way in ways]
    safe = "torch.load(f, weights_only=True); np.load(f, allow_pickle=False); json.load(f)"
    assert list(unsafe(ast.parse(safe))) == []
