"""Classes from an order: boundaries between neighbours in a sorted list, a classifier trained on pairs."""

from directranker.classification.boundaries import Boundaries, class_boundaries
from directranker.classification.order_classifier import OrderClassifier

__all__ = ["Boundaries", "OrderClassifier", "class_boundaries"]
