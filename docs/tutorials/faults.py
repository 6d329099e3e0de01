#!/usr/bin/env python3
"""Writes examples/station.csv with five faults of a sensor, for the tutorial on unusual values."""

FAULTS = {
    "2026-04-03T09:00": lambda value: value + 8,    # a spike
    "2026-04-07T18:00": lambda value: value + 1.5,  # a small error
    "2026-04-12T15:00": lambda value: value - 4,    # a value that is too low
}
FAULTS |= {f"2026-04-13T0{hour}:00": lambda value: value - 3 for hour in range(1, 6)}    # too low for five hours
FAULTS |= {f"2026-04-06T{hour:02}:00": lambda value: 7.6 for hour in range(7, 13)}       # stuck for six hours

with open("examples/station.csv") as file:
    for line in file.read().splitlines():
        time, value = line.split(",")
        print(f"{time},{FAULTS[time](float(value)):.1f}" if time in FAULTS and value else line)
