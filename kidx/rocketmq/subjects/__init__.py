"""What rules examine: parts of a store in memory, with columns that are derived once."""
