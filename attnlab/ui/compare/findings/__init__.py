"""What the runs of a comparison came to, panel by panel."""
