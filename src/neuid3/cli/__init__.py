"""What can be done without opening Python? Each command is a module, imported when it is called."""
