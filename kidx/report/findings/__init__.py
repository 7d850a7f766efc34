"""Findings, differences and rules: as rows, on the screen, and as JUnit XML, SARIF and GitHub's workflow commands."""
