"""What the README quotes, measured: `python -m benchmarks [NAME ...]`."""
