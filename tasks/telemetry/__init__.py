"""Figures of monitors for other systems: Prometheus and OpenTelemetry. Both are extras."""
