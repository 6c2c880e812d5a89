"""What an airline loses to the weather: a fit of lines, which SQL would be the wrong language for."""

from penstock import table

COLUMNS = {
    "carrier": "The airline",
    "flights": "Departures whose weather is known",
    "minutes_per_kmh": "Delay that comes with each km/h of wind",
    "minutes_per_km": "Delay that goes with each km of sight; negative: it helps to see far",
    "minutes_per_mm": "Delay that comes with each mm of rain in the hour",
    "r2": "How much of the delays this explains: 0 nothing, 1 everything",
}
SCHEMA = """
    carrier string, flights bigint, minutes_per_kmh double, minutes_per_km double,
    minutes_per_mm double, r2 double
"""
FEW = 1000    # a line through fewer departures says nothing


# The name of the parameter is the model that it reads; what it gives becomes marts.delay_factors.
@table(tags=["daily"], columns=COLUMNS)
def delay_factors(delays_and_weather):
    """How wind, sight and rain delay the departures of each airline, by least squares."""
    known = delays_and_weather.dropna(
        subset=["dep_delay", "wind_kmh", "visibility_km", "rain_mm"]
    )
    return known.groupBy("carrier").applyInPandas(fit, SCHEMA)


def fit(departures):
    """Fit the delays of one airline, a pandas frame, in a process of Spark's own."""
    import numpy as np  # here, so that penstock reads the project without it
    import pandas as pd

    if len(departures) < FEW:
        return pd.DataFrame()
    weather = departures[["wind_kmh", "visibility_km", "rain_mm"]].to_numpy()
    delay = departures["dep_delay"].to_numpy()
    lines = np.column_stack([weather, np.ones(len(delay))])
    factors, *_ = np.linalg.lstsq(lines, delay)
    left = delay - lines @ factors
    wind, sight, rain, _ = factors
    return pd.DataFrame(
        {
            "carrier": [departures["carrier"].iloc[0]],
            "flights": [len(departures)],
            "minutes_per_kmh": [wind],
            "minutes_per_km": [sight],
            "minutes_per_mm": [rain],
            "r2": [1 - left.var() / delay.var()],
        }
    )
