"""The rows of every command as typed tables, for the command line, Spark and Python alike.

A table function takes open files or paths and plain values, returns a Table (see kidx.tables.table), and neither prints
nor parses options.
"""
