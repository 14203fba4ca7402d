"""The HTML report: one self-contained file without network access or other files."""

from directranker.report.rendering import build_report, write_report

__all__ = ["build_report", "write_report"]
