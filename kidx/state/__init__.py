"""What the records of Kafka's own topics add up to: committed offsets, groups, transactions, the cluster's metadata."""
