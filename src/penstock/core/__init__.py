"""The vocabulary of penstock: frozen values, ports and errors that every room shares."""
