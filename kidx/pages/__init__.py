"""Pages of 4 KB: which ones look-ups touch, which are in memory, and a simulation of the page cache."""
