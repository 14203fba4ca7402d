"""Results as one HTML file that needs nothing else: no network, no other file, no program but a browser."""

from directranker.report.rendering import build_report, write_report

__all__ = ["build_report", "write_report"]
