"""Where MLflow keeps runs: an address that prints itself without passwords and tokens."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from fmim.runner.tracking.values import COST_METRICS, EPOCH_METRICS, safe_names
from fmim_core.metric_names import METRICS
from fmim_core.records import StudyFile, study_path

FILE = "sqlite:///"
SERVERS = ("http", "https")
DATABASES = ("postgresql", "mysql", "mssql", "postgresql+psycopg2", "mysql+pymysql")
SECRET_VARIABLES = ("MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN", "PGPASSWORD", "MYSQL_PWD")
NOT_AN_ADDRESS = (
    "MLflow keeps runs in a database or on a server, not in a folder; give sqlite:///FILE.db, a database URL, or "
    "http(s)://HOST:PORT"
)
PARTS = re.compile(
    r"(?P<scheme>[\w+]+)://((?P<user>[^:/?#@]*)(:(?P<password>[^@]*))?@)?(?P<place>[^?@]*)(\?(?P<query>.*))?", re.DOTALL
)


@dataclass(frozen=True)
class TrackingAddress:
    """MLflow's database or server.

    Args:
        shown: the address without secrets: of a server without user and password, of a database without its password
            and all that follows a `?`. This is what it prints, and what study.json holds.
        whole: what MLflow is given. It is never written anywhere.
        own: whether it is the study's own database, which nobody named.
    """

    shown: str
    whole: str = field(repr=False, compare=False)
    own: bool = False

    @classmethod
    def of(cls, text: str) -> TrackingAddress:
        """An address that somebody gave, checked as far as can be without connecting; a sqlite file's path absolute.

        Raises:
            ValueError: a folder, which MLflow no longer takes, a path or password that no address can hold, or a scheme
                that MLflow does not know. The message holds no secret.
        """
        safe_names((*METRICS, *EPOCH_METRICS, *COST_METRICS))
        if text.startswith(FILE):
            return cls._of_file(Path(text.removeprefix(FILE)))
        scheme = text.partition("://")[0]
        if scheme not in (*SERVERS, *DATABASES) or scheme == text:
            raise ValueError(f"--tracking-uri {_hidden(text)!r}: {NOT_AN_ADDRESS}")
        parts = PARTS.fullmatch(text)
        if parts is None or (scheme in SERVERS and re.search(r"[/?#]", parts["password"] or "")):
            raise ValueError(
                f"--tracking-uri {_hidden(text)!r} cannot be read: in a user's name and password write @ as %40, / as "
                "%2F, ? as %3F and # as %23"
            )
        if scheme in DATABASES:
            user = "" if parts["user"] is None else f"{parts['user']}@"
            return cls(f"{scheme}://{user}{parts['place']}", text)
        if parts["query"] is not None or "#" in parts["place"]:
            raise ValueError(
                f"--tracking-uri {_hidden(text)!r}: a server's address is http(s)://HOST:PORT, without ? and #; give a "
                "token in the environment, as MLFLOW_TRACKING_TOKEN"
            )
        return cls(f"{scheme}://{parts['place']}", text)

    @classmethod
    def beside(cls, out: Path) -> TrackingAddress:
        """The study's own database, beside its folder.

        Raises:
            ValueError: a path that no address can hold.
        """
        return cls._of_file(cls._path_beside(out), own=True)

    @classmethod
    def of_study(cls, out: Path, study: StudyFile) -> TrackingAddress:
        """Where the study's last execution was mirrored to, without secrets.

        A study's own database that is gone has moved with the folder, or is to be made anew beside it; where both were
        copied, the copy's is the one beside it.

        Raises:
            ValueError: one that somebody named is gone.
        """
        before = cls.of(study.executions[-1].tracking_uri)
        if before.file is None:
            return before
        beside, gone = cls._path_beside(out), not before.file.exists()
        moved = gone and (beside.exists() or before.file.name == beside.name)  # such a name is nobody's choice
        copied = beside.exists() and study_path(before.file.parent / out.absolute().name).exists()
        if before.file == beside or moved or copied:
            return cls.beside(out)
        if gone:
            raise ValueError(
                f"{before.file}, to which {out} was mirrored, is not there: put it back, or give --tracking-uri; the "
                f"database beside the study would be {cls.beside(out)}"
            )
        return before

    @staticmethod
    def _path_beside(out: Path) -> Path:
        return out.absolute().parent / "mlflow.db"

    @classmethod
    def _of_file(cls, given: Path, own: bool = False) -> TrackingAddress:
        path = given.absolute()
        if found := [letter for letter in "?#%" if letter in str(path)]:
            raise ValueError(
                f"MLflow's database {path}: an address cannot hold {' and '.join(found)}; give --tracking-uri "
                "sqlite:///FILE.db in a folder without"
            )
        return cls(f"{FILE}{path}", f"{FILE}{path}", own)

    def __str__(self) -> str:
        return self.shown

    @property
    def file(self) -> Path | None:
        """The sqlite file; None for any other database or a server."""
        return Path(self.shown.removeprefix(FILE)) if self.shown.startswith(FILE) else None

    @property
    def is_server(self) -> bool:
        """Whether it is a server, which a browser can open."""
        return self.shown.startswith(tuple(f"{scheme}://" for scheme in SERVERS))

    def without_secrets(self, text: str) -> str:
        """A text, such as an error of MLflow's, with *** in place of each password and token."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text

    @property
    def _secrets(self) -> set[str]:
        """What must not be told: as it was given, as it is meant, and as a request says it."""
        parts = PARTS.fullmatch(self.whole)
        found = [os.environ.get(name, "") for name in SECRET_VARIABLES]
        user = os.environ.get("MLFLOW_TRACKING_USERNAME", "")
        requests = [f"{user}:{found[0]}"]
        if parts is not None:
            given = [parts["password"] or "", parts["query"] or ""]
            given += [setting.partition("=")[2] for setting in re.split("[&;]", parts["query"] or "")]
            if self.is_server:
                given.append(parts["user"] or "")
                requests.append(unquote(f"{parts['user']}:{parts['password']}"))
            found += [*given, *map(unquote, given)]
        return {*found, *(b64encode(request.encode()).decode() for request in requests)} - {""}


def _hidden(text: str) -> str:
    """An address that cannot be read, without whatever may be a secret in it."""
    before, at, after = text.rpartition("@")
    start = before.partition("://")[0] + "://" if "://" in before else ""
    return re.sub(r"\?.*", "?***", f"{start}***@{after}" if at else text, flags=re.DOTALL)
