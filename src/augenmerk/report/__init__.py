"""A study's result as an HTML page, or its table as Markdown, LaTeX or CSV.

Every number is read from `study.json`; nothing is computed here.
"""

from augenmerk.report.page import render_report
from augenmerk.report.tables import format_csv, format_latex, format_markdown

__all__ = ["format_csv", "format_latex", "format_markdown", "render_report"]
