"""A builder of ONNX graphs that adds one operator at a time.

>>> graph = Graph()
>>> graph.add("Add", "features", graph.constant(np.float32(1)))
'value_2'
>>> [node.op_type for node in graph.nodes]
['Add']
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["Graph"]


class Graph:
    """Nodes and constants of a graph; each method returns the name of the value that it adds."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operator: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        """Add an operator with one output."""
        from onnx import helper  # noqa: PLC0415 - slow to import

        name = output or self._new_name()
        self.nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def constant(self, values: ArrayLike) -> str:
        """Add an array; integers become int64."""
        tensor = self.tensor(np.asarray(values))
        tensor.name = self._new_name()
        self.constants.append(tensor)
        return str(tensor.name)

    def cast(self, value: str, dtype: type[np.generic], *, output: str | None = None) -> str:
        """Add a conversion to another type."""
        from onnx import helper  # noqa: PLC0415 - slow to import

        return self.add("Cast", value, output=output, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    @staticmethod
    def tensor(values: ArrayLike) -> Any:
        """Convert an array to an ONNX tensor."""
        from onnx import numpy_helper  # noqa: PLC0415 - slow to import

        return numpy_helper.from_array(np.ascontiguousarray(values).reshape(np.shape(values)))

    def _new_name(self) -> str:
        return f"value_{len(self.nodes) + len(self.constants) + 1}"
