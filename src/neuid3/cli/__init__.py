"""The commands of `neuid3`; each is a module of its own, imported when it is called. The entry point is `main.main`."""
