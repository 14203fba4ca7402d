"""A neutral description of a fitted model, which all exports read: columns and layers, or trees."""
