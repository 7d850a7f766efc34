"""What `kidx dump` reads and how: a module for each kind of file, which makes a table of it, and Kafka's own text."""
