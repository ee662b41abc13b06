"""Small networks: default architectures, and the backends that run and train groups of them."""

from typing import TYPE_CHECKING

from neuid3.utils.lazy import lazy_names

if TYPE_CHECKING:
    from neuid3.networks.backend import (
        Backend,
        GroupOptimizer,
        NetworkGroup,
        backend_name,
        backend_names,
        register_backend,
        select_backend,
    )
    from neuid3.networks.batched_backend import BatchedBackend
    from neuid3.networks.defaults import Dense, LeNet, default_network
    from neuid3.networks.series import SeriesNet
    from neuid3.networks.torch_backend import TorchBackend
    from neuid3.networks.vectors import VectorNet

__all__ = [
    "Backend",
    "BatchedBackend",
    "Dense",
    "GroupOptimizer",
    "LeNet",
    "NetworkGroup",
    "SeriesNet",
    "TorchBackend",
    "VectorNet",
    "backend_name",
    "backend_names",
    "default_network",
    "register_backend",
    "select_backend",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "neuid3.networks.backend": [
            "Backend",
            "GroupOptimizer",
            "NetworkGroup",
            "backend_name",
            "backend_names",
            "register_backend",
            "select_backend",
        ],
        "neuid3.networks.batched_backend": ["BatchedBackend"],
        "neuid3.networks.defaults": ["Dense", "LeNet", "default_network"],
        "neuid3.networks.series": ["SeriesNet"],
        "neuid3.networks.torch_backend": ["TorchBackend"],
        "neuid3.networks.vectors": ["VectorNet"],
    },
)
