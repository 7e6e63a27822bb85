"""What providers refuse, told before a request is sent, and mended where that is safe."""

from ctxkit.validity.check import problems_of, validate
from ctxkit.validity.problems import Problem
from ctxkit.validity.repair import Edit, Repaired, Unresolved, mend, repair

__all__ = ["Edit", "Problem", "Repaired", "Unresolved", "mend", "problems_of", "repair", "validate"]
