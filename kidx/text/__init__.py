"""Text in general, known to no other room: JSON, integers by the million, escapes for terminals, sizes, times, bytes to
a stream."""
