"""Many definitions, many files: where each goes (`plan`), writing (`run`), following changes (`watch`)."""
