"""Names and relations of a broker's files: segments, partitions, log dirs. Nothing is opened until it is asked for."""
