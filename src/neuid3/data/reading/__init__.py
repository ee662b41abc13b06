"""Readers of CSV and Parquet tables, DataFrames and image files."""

from neuid3.data.reading.part_files import with_part_files
from neuid3.data.reading.sheet import TextTable, open_text_table
from neuid3.data.reading.table import (
    KINDS,
    ColumnSummary,
    TableData,
    read_frame,
    read_table,
    read_text_table,
    read_with_schema,
)

__all__ = [
    "KINDS",
    "ColumnSummary",
    "TableData",
    "TextTable",
    "open_text_table",
    "read_frame",
    "read_table",
    "read_text_table",
    "read_with_schema",
    "with_part_files",
]
