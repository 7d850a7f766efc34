"""The text of org.apache.kafka.tools.DumpLogSegments, and how Java and Jackson print the values in it."""
