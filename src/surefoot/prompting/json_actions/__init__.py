"""The strategy for larger models without tool calls: phases as JSON drafts, steps as one JSON decision per action."""
