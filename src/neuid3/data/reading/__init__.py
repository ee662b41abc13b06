"""Which examples does a file hold? A table of text, perhaps with the paths of images, read into columns."""

from neuid3.data.reading.sheet import Sheet, open_sheet
from neuid3.data.reading.table import KINDS, Found, Read, read_as, read_frame, read_sheet, read_table

__all__ = ["KINDS", "Found", "Read", "Sheet", "open_sheet", "read_as", "read_frame", "read_sheet", "read_table"]
