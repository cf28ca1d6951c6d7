"""Commands that set up Surefoot: for a user, for a project, and with a model."""
