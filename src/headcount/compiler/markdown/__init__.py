"""From the IR to Markdown, in one of the dialects: `write.write_markdown`."""
