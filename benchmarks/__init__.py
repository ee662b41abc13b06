"""How fast is the logic? One row for each claim, measured against the tool that it replaces."""
