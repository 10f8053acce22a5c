"""The files of a study as tables: the fields of every document, and the columns of the queries."""

from __future__ import annotations

from typing import Any

from fmim_core.records import QUERY_COLUMNS, SCHEMA
from fmim_core.records.export import DOCUMENTS, json_schema
from fmim_docs.markdown import code, documented, page, table


def files_page() -> str:
    """Every JSON document with its parts, and the Parquet file of queries."""
    schemas = {name: json_schema(name) for name in DOCUMENTS}
    parts = {name: part for schema in schemas.values() for name, part in schema.get("$defs", {}).items()}
    return page(
        "Files of a study",
        f"The JSON documents are of schema {SCHEMA}, and a file of another version is refused by name. Numbers may be "
        "`NaN` or infinite, which Python's `json` reads. Every field is there, but for those of an epoch that say so.",
        *(_document(name, schema) for name, schema in schemas.items()),
        "## Parts of documents",
        *(_fields(f"### {name}", parts[name]) for name in sorted(parts)),
        "## Queries",
        "`records/TRIAL.queries.parquet` has one row for each query of the test set, in the order of its index. "
        "*Optional* columns are there if the data set has them.",
        table(
            ["column", "type", "what"],
            ([code(c.name), c.type, c.about + (" (*optional*)" if c.optional else "")] for c in QUERY_COLUMNS.values()),
        ),
        "## Reading them in Python",
        *(
            documented(f"fmim_core.records.{name}", heading_level=3)
            for name in ("read_record", "read_records", "read_queries")
        ),
    )


def _document(name: str, schema: dict[str, Any]) -> str:
    return _fields(f"## {'records/TRIAL' if name == 'record' else name}.json", schema)


def _fields(heading: str, schema: dict[str, Any]) -> str:
    rows = ([code(name), _type(field), field["description"]] for name, field in schema["properties"].items())
    return "\n\n".join([heading, schema["description"], table(["field", "type", "what"], rows)])


def _type(schema: dict[str, Any]) -> str:
    """A JSON schema in words; parts of documents are links."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(code(value) for value in schema["enum"])
    if "prefixItems" in schema:
        return f"[{', '.join(_type(one) for one in schema['prefixItems'])}]"
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'])}"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'])}"
    return str(schema.get("type", "any"))
