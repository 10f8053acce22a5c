"""The place where MLflow keeps runs: an address that prints itself without passwords and tokens."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from fmim.runner.folder.trust import is_known
from fmim_core.records import StudyFile, read_file, study_path

FILE = "sqlite:///"
OWN = "mlflow.db"  # a study's database, beside its folder
ARTIFACTS = "mlflow-artifacts"  # a folder beside a sqlite file
BESIDE = ("-wal", "-shm", "-journal")  # sqlite's own files: what has not reached the database yet
SERVERS, DATABASES = ("http", "https"), ("postgresql", "mysql", "mssql")
SECRET_VARIABLES = ("MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN", "PGPASSWORD", "MYSQL_PWD")
VARIABLE = "FMIM_TRACKING_URI"
NOT_AN_ADDRESS = (
    f"--tracking-uri (or {VARIABLE}): MLflow keeps runs in a database or on a server, not in a folder; give "
    "sqlite:///FILE.db, a database URL, http(s)://HOST:PORT, or @FILE of a file that holds one of them"
)
UNREADABLE = (
    "--tracking-uri {}://… cannot be read: in a user's name and password write @ as %40, / as %2F, ? as %3F and # as "
    "%23; a server's address is http(s)://HOST:PORT, a token is given in the environment, as MLFLOW_TRACKING_TOKEN"
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
        """Return an address that somebody gave, checked as far as can be without connecting.

        Raises:
            ValueError: a folder, which MLflow no longer takes, a path or password that no address can hold, or a scheme
                that MLflow does not know. The message holds no secret.
        """
        if text.startswith(FILE):
            return cls._of_file(Path(text.removeprefix(FILE)))
        scheme = text.partition("://")[0]
        known = scheme in SERVERS or scheme.partition("+")[0] in DATABASES
        if not known or scheme == text:
            raise ValueError(NOT_AN_ADDRESS)
        if (shown := _shown(text)) is None:
            raise ValueError(UNREADABLE.format(scheme))
        return cls(shown, text)

    @classmethod
    def named(cls, option: str | None) -> TrackingAddress | None:
        """Return the address that the user names, by the option or else in `VARIABLE`; None where neither does.

        @FILE is the address that the file holds.

        Raises:
            ValueError: as `of`, or there is no such file.
        """
        text = (os.environ.get(VARIABLE) or None) if option is None else option
        if text is None:
            return None
        if text.startswith("@"):
            try:
                text = read_file(Path(text[1:])).decode(errors="replace").strip()
            except OSError as error:
                raise ValueError(f"--tracking-uri {text}: the file cannot be read: {error.strerror}") from None
        return cls.of(text)

    @classmethod
    def beside(cls, out: Path) -> TrackingAddress:
        """Return the study's own database, beside its folder.

        Raises:
            ValueError: a path that no address can hold.
        """
        return cls._of_file(out.absolute().parent / OWN, own=True)

    @classmethod
    def of_study(cls, out: Path, study: StudyFile) -> TrackingAddress:
        """Return where the study's last execution was mirrored to, without secrets.

        A study's own database that is gone has moved with the folder, or is to be made anew beside it; where both were
        copied, the copy's is the one beside it.

        Raises:
            ValueError: one that somebody named is gone; or this user has never named it, and the folder may have it
                from somebody else, who would get what is mirrored, with this user's passwords.
        """
        before = cls.of(study.executions[-1].tracking_uri)
        if before.file is not None:
            beside, gone = out.absolute().parent / OWN, not before.file.exists()
            moved = gone and (beside.exists() or before.file.name == beside.name)  # such a name is nobody's choice
            copied = beside.exists() and study_path(before.file.parent / out.absolute().name).exists()
            if before.file == beside or moved or copied:
                return cls.beside(out)
            if gone:
                raise ValueError(
                    f"{before.file}, to which {out} was mirrored, is not there: put it back, or give --tracking-uri; "
                    f"the database beside the study would be {cls.beside(out)}"
                )
        if not is_known(before.shown):
            raise ValueError(
                f"{out} was mirrored to {before}, which you have not used here: if you trust it, give "
                f"--tracking-uri {before}, or set {VARIABLE}"
            )
        return before

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
        """Return whether it is a server, which a browser can open."""
        return self.shown.partition("://")[0] in SERVERS

    def files_in(self, folder: Path) -> set[str]:
        """Return the names of what lies directly in a folder: a sqlite file with what belongs to it, and artifacts."""
        path = self.file
        if path is None or path.parent != folder:
            return set()
        return {ARTIFACTS, *(f"{path.name}{ending}" for ending in ("", ".lock", *BESIDE))}  # earlier ones had a lock

    def without_secrets(self, text: str) -> str:
        """Return a text, such as an error of MLflow's, with *** in place of each password and token."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text

    @property
    def _secrets(self) -> set[str]:
        """All of the address that is not shown, as it was given, is meant, and is in a request's header."""
        environment = [os.environ.get(name, "") for name in SECRET_VARIABLES]
        login = unquote(self.whole.rpartition("@")[0].partition("://")[2])
        logins = (login, f"{os.environ.get('MLFLOW_TRACKING_USERNAME', '')}:{environment[0]}")
        given, shown = (set(re.split("[:/?&=@;]", address)) for address in (self.whole, self.shown))
        hidden = {part for part in given - shown if len(part) > 1}  # one letter is no secret, and in every text
        headers = (b64encode(one.encode()).decode() for one in logins)
        return {*environment, *hidden, *map(unquote, hidden), *headers} - {""}


def _shown(text: str) -> str | None:
    """Return the address of a server without user and password, or the URL of a database without password and settings.

    None for one that cannot be read.
    """
    if text.partition("://")[0] in SERVERS:
        parts = urlsplit(text)
        if "?" in text or "#" in text or "@" in parts.path or not parts.hostname:
            return None
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    from sqlalchemy import URL, make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        return None
    if "@" in (url.host or ""):
        return None
    return URL.create(url.drivername, url.username, None, url.host, url.port, url.database).render_as_string()
