"""What a recorded session costs under each policy: traces in, tables out."""
