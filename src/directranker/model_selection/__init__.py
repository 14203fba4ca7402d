"""Model selection."""
