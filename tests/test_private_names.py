"""Names of other packages that are private, or that their documentation leaves out: any version may lose them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version
from operator import attrgetter
from pathlib import Path
from unittest.mock import Mock

import pytest
from matplotlib.figure import Figure

from fmim.runner.tracking.client import PLACES
from tests.support.paths import ROOT
from tests.test_layout import PACKAGES, files

CLUSTER, TRACKING = "studies/fmim/runner/backends/ray_cluster.py", "studies/fmim/runner/tracking"
ADMISSION = "studies/fmim/runner/backends/ray_admission.py"
TOKEN, REFUSAL = "Ray reads its token once", "ray.init takes 20 s to say that a cluster refuses us"
DRIVER, TUNE = "studies/fmim/runner/backends/ray_driver.py", "ray.tune.execution.tune_controller"
STARTS = "Tune tells its scheduler of trials, and of no worker that starts"
TABLES, SQL = "mlflow.store.tracking.dbmodels.models", "MLflow itself does not find artifacts that were moved"
NAMES = [  # package, module, name in it, our file, and why nothing public does
    ("matplotlib", "matplotlib.legend", "_ncols", "reports/fmim_reports/drawing/plotting.py", "it has a setter only"),
    ("mlflow", TABLES, "SqlExperiment.artifact_location", f"{TRACKING}/client.py", SQL),
    ("mlflow", TABLES, "SqlRun.artifact_uri", f"{TRACKING}/client.py", SQL),
    ("mlflow", TABLES, "SqlLoggedModel.artifact_location", f"{TRACKING}/client.py", SQL),
    (
        "mlflow",
        "mlflow.store.tracking.sqlalchemy_store",
        "SqlAlchemyStore",
        f"{TRACKING}/client.py",
        "it makes the tables",
    ),
    ("mlflow", "mlflow.server.fastapi_app", "app", f"{TRACKING}/server.py", "`mlflow server` opens no page"),
    ("mlflow", "mlflow.server", "ARTIFACT_ROOT_ENV_VAR", f"{TRACKING}/server.py", "settings of the app"),
    ("mlflow", "mlflow.server", "BACKEND_STORE_URI_ENV_VAR", f"{TRACKING}/server.py", "settings of the app"),
    ("pydicom", "pydicom.filereader", "_read_file_meta_info", "fmim_core/data/images/dicom.py", "others unpack all"),
    ("ray", "ray._private.services", "canonicalize_bootstrap_address", ADMISSION, REFUSAL),
    ("ray", "ray._private.worker", "_global_node", CLUSTER, "ray.shutdown ends processes by SIGTERM only"),
    ("ray", "ray._private", "worker.print_to_stdstream", CLUSTER, "it prints the last words of a raylet"),
    ("ray", "ray._raylet", "GcsClient", ADMISSION, REFUSAL),
    ("ray", "ray._raylet", "AuthenticationTokenLoader.instance", ADMISSION, TOKEN),
    ("ray", "ray._raylet", "Config.initialize", ADMISSION, TOKEN),
    ("ray", TUNE, "_actor_manager.pending_actors", DRIVER, STARTS),
    ("ray", TUNE, "_trial_to_actor", DRIVER, STARTS),
    ("torch", "torch.utils._pytree", "tree_map_only", "fmim_core/trial/trial.py", "a state may be nested"),
]
DOCUMENTED = {"_asdict", "_exit", "_fields", "start_new_thread"}  # in Python's own library
OBJECTS = {  # whose attribute the name is
    "matplotlib.legend": lambda: Figure().legend([], []),
    TUNE: lambda: import_module(TUNE).TuneController(search_alg=Mock(spec=[]), resource_manager_factory=Mock),
}


@pytest.mark.parametrize(("package", "module", "name", "file", "why"), NAMES, ids=[f"{it[1]}.{it[2]}" for it in NAMES])
def test_the_installed_version_has_it(package: str, module: str, name: str, file: str, why: str) -> None:
    try:
        attrgetter(name)(OBJECTS[module]() if module in OBJECTS else import_module(module))
    except Exception:  # whatever an import raises
        pytest.fail(
            f"{package} {version(package)} has no {module}.{name}, which {file} uses, since {why}", pytrace=False
        )


def test_tables_are_those_of_mlflow() -> None:
    models = import_module(TABLES)
    columns = [attrgetter(name)(models) for _, module, name, *_ in NAMES if module == TABLES]
    assert {column.class_.__tablename__: column.key for column in columns} == PLACES


def private_names(path: Path) -> Iterator[str]:
    """Private names that a file takes from somewhere else."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.ImportFrom(module=str(module)) if module != "__future__":
                names = [f"{module}.{alias.name}" for alias in node.names]
            case ast.Import():
                names = [alias.name for alias in node.names]
            case ast.Attribute(value=ast.Name(id="self" | "cls") | ast.Call(func=ast.Name(id="super"))):
                continue
            case ast.Attribute(attr=attr):
                names = [attr]
            case _:
                continue
        for parts in (name.split(".") for name in names):
            if any(part.startswith("_") and not part.startswith("__") for part in parts):
                yield parts[-1]


def test_no_other_private_names_are_used() -> None:
    found = {
        (str(path.relative_to(ROOT)), name) for one in PACKAGES for path in files(one) for name in private_names(path)
    }
    known = {(file, name.partition(".")[0]) for _, module, name, file, _ in NAMES if "._" in f"{module}.{name}"}
    assert {(file, name) for file, name in found if name not in DOCUMENTED} == known
