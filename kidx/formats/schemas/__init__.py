"""The records of Kafka's own topics: a table of their kinds (messages.txt), and one reader for all of them."""
