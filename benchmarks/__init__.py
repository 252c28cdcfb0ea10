"""What MAIA costs: `python -m benchmarks load|turn|stream [--quick]`."""
