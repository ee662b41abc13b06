"""Array operations of exact inference, in numpy; `torch_arrays` has the same in torch."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

# An array of the library that evaluates a circuit: a numpy array, or a torch tensor.
AnyArray = Any


class Arrays(Protocol):
    """The operations that circuits and evidence need of an array library, besides `+ - * @`, `.sum`, `.reshape` and `.T`.

    Numpy serves tables without networks, so that they need no torch. Torch serves networks and gradients.
    """

    @property
    def records_gradients(self) -> bool:
        """Whether operations are recorded for gradients at the moment."""
        ...

    def without_gradients(self) -> AbstractContextManager[Any]:
        """A context in which no operation is recorded for gradients."""
        ...

    def floats(self, values: npt.NDArray[Any]) -> AnyArray:
        """Numbers, in the precision of the probabilities.

        Parameters
        ----------
        values : numbers, in any shape.

        Returns
        -------
        An array of the same shape.
        """
        ...

    def indices(self, values: Any) -> AnyArray:
        """Integers that select rows.

        Parameters
        ----------
        values : integers.

        Returns
        -------
        An array of integers.
        """
        ...

    def mask(self, values: npt.NDArray[np.bool_]) -> AnyArray:
        """A Boolean array.

        Parameters
        ----------
        values : Booleans.

        Returns
        -------
        An array of Booleans.
        """
        ...

    def full(self, shape: tuple[int, ...], value: float) -> AnyArray:
        """An array of one number.

        Parameters
        ----------
        shape : the shape.
        value : the number.

        Returns
        -------
        An array of this shape.
        """
        ...

    def repeated(self, column: AnyArray, n: int) -> AnyArray:
        """A column `(value,)` for each of n examples, `(value, n)`, without a copy.

        Parameters
        ----------
        column : an array, `(value,)`.
        n : the number of examples.

        Returns
        -------
        An array, `(value, n)`.
        """
        ...

    def one_hot(self, codes: npt.NDArray[np.int64], size: int) -> AnyArray:
        """1 where the code of an example is the value, otherwise 0, `(value, example)`.

        Parameters
        ----------
        codes : the index of the value of each example, `(example,)`.
        size : the number of values.

        Returns
        -------
        An array, `(value, example)`.
        """
        ...

    def where(self, mask: AnyArray, yes: AnyArray, no: AnyArray) -> AnyArray:
        """The first array where the mask is true, otherwise the second.

        Parameters
        ----------
        mask : Booleans.
        yes, no : the arrays to choose from.

        Returns
        -------
        An array of the shape that the three have in common.
        """
        ...

    def stack(self, arrays: Sequence[AnyArray]) -> AnyArray:
        """Arrays of one shape along a new first axis.

        Parameters
        ----------
        arrays : arrays of one shape.

        Returns
        -------
        An array with one more axis.
        """
        ...

    def concatenate(self, arrays: Sequence[AnyArray]) -> AnyArray:
        """Arrays one below the other, along the first axis.

        Parameters
        ----------
        arrays : arrays that differ in their first axis at most.

        Returns
        -------
        An array with all their rows.
        """
        ...

    def take(self, array: AnyArray, rows: AnyArray) -> AnyArray:
        """Rows of an array, by `indices`.

        Parameters
        ----------
        array : an array, `(row, …)`.
        rows : row indices, from `indices`.

        Returns
        -------
        The rows, in this order.
        """
        ...

    def to_numpy(self, array: AnyArray) -> npt.NDArray[Any]:
        """The array in numpy, on the CPU.

        Parameters
        ----------
        array : an array of this library.

        Returns
        -------
        The same numbers in numpy.
        """
        ...


class NumpyArrays:
    """Array operations in numpy, in double precision."""

    records_gradients = False

    def without_gradients(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def floats(self, values: npt.NDArray[Any]) -> AnyArray:
        return np.asarray(values, dtype=np.float64)

    def indices(self, values: Any) -> AnyArray:
        return np.asarray(values, dtype=np.intp)

    def mask(self, values: npt.NDArray[np.bool_]) -> AnyArray:
        return np.asarray(values)

    def full(self, shape: tuple[int, ...], value: float) -> AnyArray:
        return np.full(shape, value)

    def repeated(self, column: AnyArray, n: int) -> AnyArray:
        return np.broadcast_to(column[:, None], (len(column), n))

    def one_hot(self, codes: npt.NDArray[np.int64], size: int) -> AnyArray:
        return (np.arange(size)[:, None] == codes).astype(np.float64)

    def where(self, mask: Any, yes: Any, no: Any) -> AnyArray:
        return np.where(mask, yes, no)

    def stack(self, arrays: Sequence[Any]) -> AnyArray:
        return np.stack(arrays)

    def concatenate(self, arrays: Sequence[Any]) -> AnyArray:
        return np.concatenate(arrays)

    def take(self, array: Any, rows: Any) -> AnyArray:
        return np.take(array, rows, axis=0)

    def to_numpy(self, array: Any) -> npt.NDArray[Any]:
        return np.asarray(array)


NUMPY = NumpyArrays()
