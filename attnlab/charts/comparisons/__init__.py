"""Many runs side by side: figures over seeds, curves, maps and shares."""
