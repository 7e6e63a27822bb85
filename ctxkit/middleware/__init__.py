"""The middlewares, one concern a file; `ctxkit` has them all under their names."""
