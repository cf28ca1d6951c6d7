"""Tools of MCP servers. The library `mcp` is imported when a server is first used."""
