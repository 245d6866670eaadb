"""The version of headway, which the package is built with."""

__version__ = "0.1.0"
