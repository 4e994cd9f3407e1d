"""placeholder"""

from evalcore.methods.choice import Certified

TABLE: tuple[Certified, ...] = ()
