"""Correlation and the columns of both inputs -> CorrelationPlan."""
