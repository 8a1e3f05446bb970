"""Modules by their names in version 0.1.0, for scripts that the app wrote; deprecated."""
