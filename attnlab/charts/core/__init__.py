"""What charts are made of: forms, hues, axes, legends, files."""
