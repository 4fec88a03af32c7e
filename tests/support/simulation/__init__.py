"""A disk, its files and the processes on it, simulated in memory: a seed decides which of them crash, and when."""
