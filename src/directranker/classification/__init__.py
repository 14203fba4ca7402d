"""Classes from an order: boundaries in sorted scores, and a classifier trained on pairs."""

from directranker.classification.boundaries import Boundaries, class_boundaries
from directranker.classification.order_classifier import OrderClassifier
from directranker.classification.saving import load_classifier

__all__ = ["Boundaries", "OrderClassifier", "class_boundaries", "load_classifier"]
