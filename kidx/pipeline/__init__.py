"""Spark: the checks of `kidx verify` over a fleet, questions about the fleet, and the data source "kidx".

Only this room imports pyspark. Tasks call the same functions as the commands for single files.
"""
