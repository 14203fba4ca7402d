"""Exports of rankers to ONNX, C, Solr and Elasticsearch, each verified on real rows before it is written."""

from directranker.export.exporting import TARGETS, export_ranker
from directranker.export.parity import Parity

__all__ = ["TARGETS", "Parity", "export_ranker"]
