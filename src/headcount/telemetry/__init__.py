"""A team's life for other eyes: as an OpenTelemetry trace. An extra, `pip install 'headcount[telemetry]'`."""
