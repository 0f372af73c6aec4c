"""The use cases that every front end shares. The only place where adapters are chosen."""
