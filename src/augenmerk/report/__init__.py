"""A study's result as an HTML page, or its table as Markdown, LaTeX or CSV.

Every number is read from `study.json`; nothing is computed here.
"""

from augenmerk.report.charts import list_charts
from augenmerk.report.page import render_report
from augenmerk.report.tables import TableStyle, format_csv, format_latex, format_markdown

__all__ = ["TableStyle", "format_csv", "format_latex", "format_markdown", "list_charts", "render_report"]
