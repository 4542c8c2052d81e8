"""`ollm mcp`: MCP servers of the settings."""
