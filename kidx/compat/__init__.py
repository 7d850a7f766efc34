"""Other tools' output, byte for byte."""
