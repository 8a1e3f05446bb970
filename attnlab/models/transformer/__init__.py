"""`transformer`: its layers and their stack."""
