"""What rules are asked about: parts of a store in memory, with columns that are derived once."""
