"""Where records are kept. An edge: each back end is one file."""
