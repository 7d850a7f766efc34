"""Pages of 4 KB: what reading an index entry costs."""
