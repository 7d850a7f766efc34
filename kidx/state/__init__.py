"""What the records of Kafka's internal topics add up to: offsets, groups, transactions, the cluster's metadata."""
