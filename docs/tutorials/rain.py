#!/usr/bin/env python3
"""Writes a map of rain that does not exist: rain.py > rain.csv

A grid of places, 90 of which have a station and so a value; the others are to be predicted.
"""

import math
import random


def rain(lon, lat):
    """Millimetres in a month: more in the west and on two hills."""
    hills = sum(height * math.exp(-((lon - x) ** 2 + (lat - y) ** 2) / width) for x, y, height, width in
                ((7.5, 50.5, 60, 0.6), (11.0, 48.2, 80, 0.9)))
    return 50 + 4 * (10 - lon) + hills


def main():
    draw = random.Random(5)
    places = [(6 + i / 5, 47.5 + j / 5) for i in range(36) for j in range(24)]
    stations = set(draw.sample(places, 90))
    print("lon,lat,rain")
    for lon, lat in places:
        value = f"{rain(lon, lat) + draw.gauss(0, 3):.1f}" if (lon, lat) in stations else ""
        print(f"{lon:.1f},{lat:.1f},{value}")


if __name__ == "__main__":
    main()
