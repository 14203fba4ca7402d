"""Classes from an order: boundaries between neighbours in a sorted list, a classifier trained on pairs."""

from directranker.classification.boundaries import Boundaries, class_boundaries

__all__ = ["Boundaries", "class_boundaries"]
