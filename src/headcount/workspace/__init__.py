"""Git: worktrees, findings, salvage, restore, the removal gate, integration."""
