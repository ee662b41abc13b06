"""The methods of public models that write them to files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar


class SavedModel:
    """A model that can be written to a file, a mixin.

    Attributes
    ----------
    file_kind : what a file of the model alone says that it holds.
    """

    file_kind: ClassVar[str]

    def write(self, path: Path | str, fields: Mapping[str, Any], *, remember_rows: bool = True) -> Path:
        """Write the model with further fields to one file, as the estimators do.

        Parameters
        ----------
        path : the file; an ending is added where there is none.
        fields : further fields of the file, among them its `kind`.
        remember_rows : whether digests of the training rows are stored.

        Returns
        -------
        The path of the file.
        """
        raise NotImplementedError

    def save(self, path: Path | str, *, remember_rows: bool = True) -> Path:
        """Write the model with its program, networks and priors to one file, which `neuid3.load` reads.

        Without `remember_rows` the file holds no digests of the training rows.

        Parameters
        ----------
        path : the file; an ending is added where there is none.
        remember_rows : whether digests of the training rows are stored.

        Returns
        -------
        The path of the file.
        """
        return self.write(path, {"kind": self.file_kind}, remember_rows=remember_rows)
