"""The records of each document, a module for each format."""
