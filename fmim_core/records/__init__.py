"""The files of a study: typed documents with one version, read and written through one place. Needs no torch."""

# ruff: noqa: F403 (other packages import all public names of these modules from here)

from fmim_core.records.document import *
from fmim_core.records.files import *
from fmim_core.records.parts import *
from fmim_core.records.progress import *
from fmim_core.records.queries import *
from fmim_core.records.record import *
from fmim_core.records.selection import *
from fmim_core.records.study import *
