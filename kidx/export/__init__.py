"""Records out of logs: which files hold a partition, its records in order and each once, what is missing, and files."""
