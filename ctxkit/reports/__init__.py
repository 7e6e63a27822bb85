"""What tasks used and cost, as objects that print themselves."""

from ctxkit.reports.report import Report, TaskRow

__all__ = ["Report", "TaskRow"]
