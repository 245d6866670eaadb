"""Replicas: many runs of one shape that are trained at once, each as it would be alone."""

from headway.training.stacked.loop import resume_stacked, train_stacked
from headway.training.stacked.shape import require_one_shape, shape_of

__all__ = ["require_one_shape", "resume_stacked", "shape_of", "train_stacked"]
