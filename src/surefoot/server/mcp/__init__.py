"""Surefoot as an MCP server: `surefoot mcp`."""
