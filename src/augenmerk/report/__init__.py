"""A study's result as a page, or its table as Markdown, LaTeX or CSV.

Draws and computes nothing: every number comes from `study.json`, which comes from the run directories.
"""

from augenmerk.report.page import report_page
from augenmerk.report.tables import csv_table, latex_table, markdown_table

__all__ = ["csv_table", "latex_table", "markdown_table", "report_page"]
