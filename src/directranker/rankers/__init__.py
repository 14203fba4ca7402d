"""Rankers: scikit-learn estimators that learn an order from graded documents."""
