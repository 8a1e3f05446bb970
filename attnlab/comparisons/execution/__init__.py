"""How runs are carried out: one, several as one program, and as tasks of workers."""
