"""Who trains, and how do they come by the images? Joblib's workers, here or on a cluster, each with the columns once."""

from neuid3.crew.stock import Part, Pile, Stock
from neuid3.crew.workers import Crew, ending_with_this_process

__all__ = ["Crew", "Part", "Pile", "Stock", "ending_with_this_process"]
