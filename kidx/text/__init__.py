"""Text, independent of Kafka: JSON, arrays of integers as lines, escapes for terminals, sizes and times, streams."""
