"""Unit tests of models as users write them: files under tests/ with the key `unit_tests`."""
