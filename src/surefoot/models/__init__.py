"""Language models: the `LanguageModel` protocol and its implementations."""
