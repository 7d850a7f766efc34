"""Screens and pictures for people: one module for each command, which knows the columns of that command's rows."""
