"""Missing entries in training: substitutes as network inputs, and average outputs in place of network outputs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from neuid3.circuits.torch_arrays import as_tensor
from neuid3.networks.augmentation import Augmentation, InputColumns
from neuid3.training.task import Task


class RunningAverage:
    """Weighted average of the outputs of a network, without gradients; uniform where nothing was added.

    In a row that lacks an input of the network, its variable follows this average, in training as in prediction. No
    gradient goes through it: such a row is evidence about the images that it has, not about those of other rows.
    """

    def __init__(self, sums: torch.Tensor) -> None:
        self.sums = sums  # (value + 1,): weighted sum of each value, then the sum of the weights

    def add(self, outputs: torch.Tensor, weights: torch.Tensor, decay: float = 1.0) -> None:
        """Add outputs `(row, value)` with weights `(row,)`, after multiplying what was added before by `decay`."""
        weights = weights.to(outputs.dtype)
        added = torch.cat((weights @ outputs.detach(), weights.sum()[None]))
        self.sums = decay * self.sums + added

    def value(self) -> torch.Tensor:
        """The average, `(value,)`."""
        total, width = self.sums[-1], len(self.sums) - 1
        return self.sums[:-1] / total if float(total) > 0 else torch.full_like(self.sums[:-1], 1.0 / max(width, 2))


class MissingEntries:
    """The rows of a task with missing entries, and the rows whose entries stand in for them as network inputs.

    The outputs there are not used. But networks of a group run together, some of them with batch normalisation, so their
    input is an entry of the same column from another training row.

    Attributes
    ----------
    masks : for each tuple of inputs that is incomplete somewhere, the mask of these rows, `(row,)`; rows without the part
        that is read are not among them.
    absent : for each tuple of inputs of parts that some rows do not have, the mask of these rows, `(row,)`.
    weights : weights of the examples, `(row,)`.
    substitutes : for each column with missing entries, the row to read in place of each row; None where all are missing.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        inputs = dict.fromkeys(output.inputs for output in task.outputs.values())
        absent = {names: task.is_absent(names) for names in inputs}
        missing = {names: ~task.computable(names) & ~absent[names] for names in inputs}
        self.masks = _tensors(missing, task.device)
        self.absent = _tensors(absent, task.device)
        self.weights = as_tensor(task.target.weights).to(task.device)
        self.substitutes = {name: self._substitutes(missing) for name, missing in task.missing.items()}

    def _substitutes(self, missing: npt.NDArray[np.bool_]) -> torch.Tensor | None:
        """For each row a row that has an entry of this column, itself if possible; None where no row has one."""
        present = np.flatnonzero(~missing & ~self.task.unseen)
        present = present if len(present) else np.flatnonzero(~missing)
        if not len(present):
            return None
        rows = np.arange(len(missing))
        rows[missing] = np.resize(present, int(missing.sum()))
        return torch.from_numpy(rows)

    def read(
        self,
        columns: InputColumns,
        name: str,
        rows: torch.Tensor,
        out: torch.Tensor,
        augmentation: Augmentation | None = None,
    ) -> None:
        """Write these rows of a column to `out`, with substitutes for missing entries."""
        if name not in self.substitutes:
            columns.read(name, rows, out, augmentation)
        elif (substitutes := self.substitutes[name]) is not None:
            columns.read(name, substitutes[rows], out, augmentation)
        else:
            out.zero_()


def _tensors(masks: dict[tuple[str, ...], npt.NDArray[np.bool_]], device: str) -> dict[tuple[str, ...], torch.Tensor]:
    return {names: torch.from_numpy(mask).to(device) for names, mask in masks.items() if mask.any()}
