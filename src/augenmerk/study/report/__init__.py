"""A study's result as an HTML page, or its table as Markdown, LaTeX or CSV.

Every number is read from `study.json`; nothing is computed here.
"""

from augenmerk.study.report.charts import list_charts, list_number_factors
from augenmerk.study.report.page import describe_alignment, render_report
from augenmerk.study.report.tables import (
    FORMATS,
    TableStyle,
    build_columns,
    describe_published,
    format_csv,
    format_latex,
    format_markdown,
)

__all__ = [
    "FORMATS",
    "TableStyle",
    "build_columns",
    "describe_alignment",
    "describe_published",
    "format_csv",
    "format_latex",
    "format_markdown",
    "list_charts",
    "list_number_factors",
    "render_report",
]
