"""What the records of Kafka's own topics add up to: committed offsets, groups, transactions, cluster metadata."""
