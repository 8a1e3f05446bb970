"""Charts of processes: their rules, their days, what can be known of them."""
