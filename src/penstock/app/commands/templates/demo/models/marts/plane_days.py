"""What planes do all day: a table that grows by days, written as a function."""

from pyspark.sql import functions as F

from penstock import incremental_table


# A run is given the flights from the start of its last day on, and replaces the days from there:
# a day of which half was delivered is made again as a whole, all days before stay as they are.
@incremental_table(
    time_column="day",
    window_on={"flights": "time_hour"},  # the column of flights that says of which day they are
    lookback=0,                          # "2 days" would make two more days again, for late rows
    partition_by="day",
    tags=["daily"],
)
def plane_days(flights):
    """What each plane did on each day; days are UTC, as the hours of departure are."""
    return (
        flights.where("tailnum is not null and not is_cancelled")
        .groupBy(F.to_date("time_hour").alias("day"), "tailnum")
        .agg(
            F.count("*").alias("departures"),
            F.sum("air_time").alias("air_minutes"),
            F.sum(F.col("dep_delay") - F.col("arr_delay")).alias("minutes_made_up"),
        )
    )
