"""Which range of each input one partition reads, from SQL and `depends_on`."""
