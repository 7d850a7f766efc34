"""How a broker searches: a slot in an index, a batch or a record in a segment."""
