"""What users see and type: commands, text, JSON, the site."""
