"""Rankers for other programs: ONNX, C, Solr, Elasticsearch; each proved on real rows before it is written."""

from directranker.export.exporting import TARGETS, export_ranker
from directranker.export.parity import Parity

__all__ = ["TARGETS", "Parity", "export_ranker"]
