"""Why a fit learned nothing: causes with their evidence, and the smallest change that would help."""

from neuid3.diagnosis.findings import Diagnosis, Finding

__all__ = ["Diagnosis", "Finding"]
