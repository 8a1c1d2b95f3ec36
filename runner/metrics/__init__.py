"""HOW WELL: pure functions on columns; no I/O, no benchmark names."""
