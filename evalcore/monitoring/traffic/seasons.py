"""Which season of its cycle a window belongs to: traffic of Sundays resembles that of Sundays."""

from assay.evalcore.monitoring.calendar import Window


def seasons(window: Window) -> tuple[str, ...]:
    """From the finest to the coarsest; empty for windows of a week or longer."""
    start = window.start
    match window.kind:
        case "hour":
            return f"{start:%a %H}", f"{start:%H}"
        case "day":
            return (f"{start:%a}",)
        case _:
            return ()
