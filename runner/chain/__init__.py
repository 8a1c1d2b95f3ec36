"""The arrows of the data flow: each step reads files and writes files."""
