"""What differs between the replicas of a partition, and what may differ between healthy ones."""
