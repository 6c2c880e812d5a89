"""What people see of values."""
