"""A neutral description of a fitted model that exports read: columns and layers, or trees."""
