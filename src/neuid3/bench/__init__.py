"""How fast is it? A row for each claim, measured in one run against what it is compared with."""
