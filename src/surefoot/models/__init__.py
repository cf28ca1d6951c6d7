"""Language models: one protocol, and the servers, files and scripts that answer to it."""
