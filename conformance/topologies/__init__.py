"""The topologies by family, one module for each family class of the recorder."""
