"""Sources and sinks, and what one stage hands over to another."""
