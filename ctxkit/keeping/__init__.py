"""Attempts kept from process to process, and the reports that are made of them."""

from ctxkit.keeping.grouped import By, GroupedReport, grouped
from ctxkit.keeping.ledger import Ledger

__all__ = ["By", "GroupedReport", "Ledger", "grouped"]
