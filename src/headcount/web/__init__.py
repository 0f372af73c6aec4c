"""Show teams in a browser: the report as one file, and the live page."""
