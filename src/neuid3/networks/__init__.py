"""Small networks: default architectures, batched groups of them, their optimizer, inputs and compiled kernel."""

from typing import TYPE_CHECKING

from neuid3.utils.lazy import lazy_names

if TYPE_CHECKING:
    from neuid3.networks.defaults import Dense, LeNet, default_network
    from neuid3.networks.groups import NetworkGroup, network_group

__all__ = ["Dense", "LeNet", "NetworkGroup", "default_network", "network_group"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "neuid3.networks.defaults": ["Dense", "LeNet", "default_network"],
        "neuid3.networks.groups": ["NetworkGroup", "network_group"],
    },
)
