"""The text of org.apache.kafka.tools.DumpLogSegments, and what Java and Jackson do in their own way in it."""
