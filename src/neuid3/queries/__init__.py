"""First-order queries over the parts of examples: their language, their evaluation by joins, and their refinements."""

from typing import TYPE_CHECKING

from neuid3.utils.lazy import lazy_names

if TYPE_CHECKING:
    from neuid3.queries.joins import holds
    from neuid3.queries.language import Query, parse_query
    from neuid3.queries.modes import derived_modes

__all__ = ["Query", "derived_modes", "holds", "parse_query"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "neuid3.queries.joins": ["holds"],
        "neuid3.queries.language": ["Query", "parse_query"],
        "neuid3.queries.modes": ["derived_modes"],
    },
)
