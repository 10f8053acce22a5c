"""MLflow's answers, which come in pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def all_pages(search: Callable[..., Any]) -> Iterator[Any]:
    """What a search of MLflow finds, page after page; it takes the token of its next page as `page_token`."""
    token: str | None = None
    while True:
        page = search(page_token=token)
        yield from page
        token = page.token
        if not token:
            return
