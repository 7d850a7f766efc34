"""The state in Kafka's internal topics, replayed from their records: offsets, groups, transactions, metadata."""
