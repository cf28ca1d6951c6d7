"""Commands that set Surefoot up: for a user, for a project, and with a model."""
