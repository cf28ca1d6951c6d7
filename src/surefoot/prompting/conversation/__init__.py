"""The strategy for models that call tools: one durable conversation from the first look to the last step."""
