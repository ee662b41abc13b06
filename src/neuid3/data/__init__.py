"""Examples and their columns, files of them, columns larger than memory, and priors for missing entries."""

from typing import TYPE_CHECKING

from neuid3.utils.lazy import lazy_names

if TYPE_CHECKING:
    from neuid3.data.columns import (
        Boolean,
        Category,
        Column,
        Date,
        Distribution,
        Kind,
        Number,
        Probability,
        Schema,
        Series,
        Tensor,
        Text,
    )
    from neuid3.data.examples import Examples
    from neuid3.data.parts import Parts, Relation
    from neuid3.data.priors import Priors
    from neuid3.data.reading.files import ImageFiles
    from neuid3.data.reading.interpretations import read_interpretations
    from neuid3.data.reading.table import read_frame, read_table

__all__ = [
    "Boolean",
    "Category",
    "Column",
    "Date",
    "Distribution",
    "Examples",
    "ImageFiles",
    "Kind",
    "Number",
    "Parts",
    "Priors",
    "Probability",
    "Relation",
    "Schema",
    "Series",
    "Tensor",
    "Text",
    "read_frame",
    "read_interpretations",
    "read_table",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "neuid3.data.columns": [
            "Boolean",
            "Category",
            "Column",
            "Date",
            "Distribution",
            "Kind",
            "Number",
            "Probability",
            "Schema",
            "Series",
            "Tensor",
            "Text",
        ],
        "neuid3.data.examples": ["Examples"],
        "neuid3.data.priors": ["Priors"],
        "neuid3.data.reading.files": ["ImageFiles"],
        "neuid3.data.parts": ["Parts", "Relation"],
        "neuid3.data.reading.interpretations": ["read_interpretations"],
        "neuid3.data.reading.table": ["read_frame", "read_table"],
    },
)
