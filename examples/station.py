#!/usr/bin/env python3
"""Makes the table of the README's first example: station.py > station.csv

Two weeks of a weather station that does not exist, by the hour: days and nights under weather that drifts, a sensor that was
off for two stretches of time, and hours that got lost.
"""

import datetime
import math
import random

HOURS = 14 * 24
OFF = (range(92, 110), range(215, 251))
LOST = 0.1


def temperatures(draw):
    """Degrees Celsius, one for each hour."""
    weather, cloud = 0.0, 0.0
    for hour in range(HOURS):
        weather += -0.01 * weather + draw.gauss(0, 0.25)
        cloud += -0.03 * cloud + draw.gauss(0, 0.12)
        day = math.cos(2 * math.pi * (hour - 15) / 24) + 0.25 * math.cos(4 * math.pi * (hour - 14) / 24)
        yield 11 + weather + 4 * math.exp(0.3 * cloud) * day + draw.gauss(0, 0.2)


def main():
    draw = random.Random(7)
    first = datetime.datetime(2026, 4, 1)
    print("time,temperature")
    for hour, temperature in enumerate(temperatures(draw)):
        lost = draw.random() < LOST or any(hour in off for off in OFF)
        print(f"{(first + datetime.timedelta(hours=hour)).isoformat(timespec='minutes')},{'' if lost else f'{temperature:.1f}'}")


if __name__ == "__main__":
    main()
