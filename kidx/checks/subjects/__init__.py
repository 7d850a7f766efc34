"""What rules examine: a chunk of index entries, a window of batches, a log that was read, a directory's files."""
