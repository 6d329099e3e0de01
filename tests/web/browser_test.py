#!/usr/bin/env python3
"""Tests the page of tools/web.sh in headless Chromium against the program, and prints seconds and bytes.

    browser_test.py PAGE_FOLDER NPZOO [SCREENSHOTS]
    browser_test.py --build FOLDER NPZOO    builds the page below FOLDER first

The test is skipped (exit status 77) without chromium, chromedriver or, with --build, Emscripten."""

import base64
import contextlib
import csv
import functools
import gzip
import http.server
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import webdriver

FILES = ("index.html", "page.css", "page.js", "worker.js", "npzoo.js", "npzoo.wasm")
MOST_BYTES = 2_500_000  # of these, with gzip
TOLERANCE = 1e-6        # of each number
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
WEB_SH = pathlib.Path(__file__).resolve().parents[2] / "tools/web.sh"


def check(condition, message):
    if not condition:
        sys.exit(f"browser_test: {message}")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@contextlib.contextmanager
def served(folder):
    """Serves a folder; yields its address."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def wait(what, condition, seconds=300):
    end = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < end, f"{what}: no answer after {seconds} s")
        time.sleep(0.02)


def compare(name, found, expected):
    """The largest difference of numbers that npzoo made, relative to numbers above 1; other cells must be the same."""
    rows, true_rows = (list(csv.reader(path.open(newline=""))) for path in (found, expected))
    check(len(rows) == len(true_rows) and rows[0] == true_rows[0],
          f"{name}: {len(rows)} rows of {rows[0]} found, expected {len(true_rows)} of {true_rows[0]}")
    largest, numbers = 0.0, 0
    for row, true_row in zip(rows[1:], true_rows[1:]):
        for column, a, b in zip(rows[0], row, true_row):
            if not column.startswith(("mean_", "std_", "q")) or not (a and b):
                check(a == b, f"{name}: {column} is {a!r}, expected {b!r}")
                continue
            a, b = float(a), float(b)
            numbers += 1
            largest = max(largest, abs(a - b) / max(1, abs(a), abs(b)))
    check(numbers > 0, f"{name}: no numbers to compare")
    check(largest <= TOLERANCE, f"{name}: numbers differ by {largest:.2g}, expected at most {TOLERANCE}")
    return largest, numbers


class Page:
    """The page in a browser, and what the program does with the same tables."""

    def __init__(self, browser, folder, npzoo):
        self.browser, self.npzoo, self.folder = browser, npzoo, folder
        self.downloads = folder / "downloads"

    def resize(self, size):
        width, height = SIZES[size]
        self.browser.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                             mobile=size == "phone")

    def answer(self, what, act):
        """Acts, waits for the page's answer, and returns how many seconds that took."""
        self.browser.run("document.getElementById('result').hidden = true")
        began = time.monotonic()
        act()
        wait(what, lambda: self.browser.run(
            "return !document.body.hasAttribute('data-busy') && !document.getElementById('result').hidden"))
        return time.monotonic() - began

    def set_fields(self, **texts):
        for name in ("horizon", "grid", "options"):
            self.browser.clear(f"#{name}")
            if texts.get(name):
                self.browser.write(f"#{name}", texts[name])

    def give(self, table, drop):
        """Drops a table on the page, or chooses it; returns the seconds until the answer."""
        give = self.browser.drop if drop else self.browser.write
        return self.answer(table.name, lambda: give("#drop" if drop else "#file", str(table)))

    def size_of_chart(self):
        wait("loading of the chart", lambda: self.browser.run("return document.getElementById('chart').complete"), 30)
        return self.browser.run("const c = document.getElementById('chart'); return [c.offsetWidth, c.offsetHeight]")

    def download(self, label, name):
        target = self.downloads / name
        target.unlink(missing_ok=True)
        self.browser.run("[...document.querySelectorAll('#downloads a')].find((a) => a.textContent === arguments[0]).click()", label)
        wait(f"download of {name}", lambda: target.exists() and target.stat().st_size > 0, 30)
        return target

    def predict(self, table, drop, flags=(), **fields):
        """Predicts a table on the page and by the program, and compares; prints a line about both."""
        name = table.name
        self.set_fields(options=" ".join(["--digits", "9", *flags]), **fields)
        seconds = self.give(table, drop)
        error = self.browser.text("#error")
        check(not error, f"{name}: {error}")
        filled = self.download("Download the table", f"{table.stem}.filled{table.suffix}")
        expected = self.folder / f"expected-{name}"
        for field, text in fields.items():
            flags = [*flags, f"--{field}", text]
        began = time.monotonic()
        process = subprocess.run([self.npzoo, "predict", name, "--digits", "9", "--verbose", "--out", str(expected), "--plot",
                                  str(self.folder / "chart.svg"), *flags], cwd=table.parent, capture_output=True, text=True, check=True)
        natively = time.monotonic() - began
        columns = next(line for line in process.stderr.splitlines() if line.startswith("npzoo: columns: "))
        found = self.browser.text("#summary")
        check(found == columns.replace("npzoo: columns: ", "Predicted "), f"{name}: {found!r} found, expected {columns!r}")
        largest, numbers = compare(name, filled, expected)
        chart = self.size_of_chart()
        check(chart[0] > 300 and chart[1] > 150, f"{name}: the chart has a size of {chart}")
        check(self.download("Download the chart", "chart.svg").read_text().startswith("<svg"), f"{name}: the chart is no SVG")
        check(self.browser.run("return document.querySelectorAll('#rows tr').length") > 5, f"{name}: no rows are shown")
        print(f"{name} {'dropped' if drop else 'chosen'}: {numbers} numbers differ by at most {largest:.1e}; {seconds:.2f} s, "
              f"of which {self.browser.text('#status')} in the page's program; the native program takes {natively:.2f} s", flush=True)

    def expect_error(self, name, text, **fields):
        """The page shows the program's own words, and goes on after them."""
        table = self.folder / name
        table.write_text(text)
        self.set_fields(**fields)
        self.give(table, drop=True)
        out = ["--out", "out.csv"]
        command = [self.npzoo, "predict", name, *out, *(word for field, text in fields.items() for word in (f"--{field}", text))]
        process = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        check(process.returncode != 0, f"{name}: the program found no error")
        fault = next(line for line in process.stderr.splitlines() if line.startswith("npzoo: error: "))
        expected = fault.removeprefix("npzoo: error: ").replace(" " + " ".join(out), "")
        found = self.browser.text("#error")
        check(found == expected, f"{name}: {found!r} found, expected {expected!r}")
        check(self.size_of_chart() == [0, 0], f"{name}: a chart stands below the error")

    def check_stop(self, table):
        self.set_fields(options="--model gp")
        self.browser.drop("#drop", str(table))
        wait("a busy page", lambda: self.browser.run("return document.body.hasAttribute('data-busy')"), 30)
        self.browser.run("document.getElementById('stop').click()")
        check(self.browser.text("#status") == "stopped", f"stop: {self.browser.text('#status')!r} found")

    def check_compressed(self, table):
        packed = self.folder / f"{table.name}.gz"
        packed.write_bytes(gzip.compress(table.read_bytes()))
        self.set_fields()
        self.give(packed, drop=True)
        check(self.size_of_chart()[0] > 300, f"{packed.name}: {self.browser.text('#error')!r}")

    def check_width(self, name, screenshots):
        """No size makes the page wider than the screen; writes screenshots."""
        for size, (width, _) in SIZES.items():
            self.resize(size)
            time.sleep(0.2)
            wide = self.browser.run("return document.documentElement.scrollWidth")
            check(wide <= width, f"{name}: the page is {wide} pixels wide on a {size}, expected at most {width}")
            if screenshots:
                screenshots.mkdir(parents=True, exist_ok=True)
                shot = self.browser.command("Page.captureScreenshot", captureBeyondViewport=True, format="png")
                (screenshots / f"{name}-{size}.png").write_bytes(base64.b64decode(shot["data"]))
        self.resize("desktop")


def check_size(folder):
    download = 0
    for file in FILES:
        data = (folder / file).read_bytes()
        packed = len(gzip.compress(data, 9))
        download += packed
        print(f"{file}: {len(data)} bytes, {packed} with gzip")
    print(f"download: {download} bytes with gzip", flush=True)
    check(download <= MOST_BYTES, f"{download} bytes to download, expected at most {MOST_BYTES}")


def check_page(page, folder, screenshots):
    page.predict(folder / "station.csv", drop=True)
    page.check_width("fill", screenshots)
    page.predict(folder / "station.csv", drop=False, flags=["--quantiles", "0.05,0.95"])
    page.predict(folder / "sales.csv", drop=True, horizon="12")
    page.check_width("forecast", screenshots)
    page.predict(folder / "rain.csv", drop=True)
    page.check_width("map", screenshots)
    page.expect_error("complete.csv", "x,y\n" + "".join(f"{i},{i * i}\n" for i in range(20)))
    page.expect_error("station.csv", (folder / "station.csv").read_text(), grid="none")
    page.check_width("error", screenshots)
    page.check_stop(folder / "rain.csv")
    page.check_compressed(folder / "station.csv")
    for example in page.browser.run("return [...document.querySelectorAll('[data-example]')].map((b) => b.dataset.example)"):
        page.answer(f"example {example}", lambda: page.browser.click(f"[data-example='{example}']"))
        error = page.browser.text("#error")
        check(not error, f"example {example}: {error}")


def check_requests(browser, origin):
    """The page loads its own files alone, and the browser reports no error."""
    urls = [entry["message"].split('"url":"')[1].split('"')[0] for entry in browser.log("performance")
            if '"Network.requestWillBeSent"' in entry["message"]]
    check(any(url.startswith(origin) for url in urls), "no request was recorded")
    foreign = [url for url in urls if not url.startswith((origin, "blob:", "data:"))]
    check(not foreign, f"requests to other places: {foreign}")
    severe = [entry["message"] for entry in browser.log("browser") if entry["level"] == "SEVERE"]
    check(not severe, f"errors in the console: {severe}")


def has_emscripten():
    if not shutil.which("em++"):
        return False
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", subprocess.run(["em++", "--version"], capture_output=True, text=True).stdout)
    return found is not None and tuple(map(int, found.groups())) >= (3, 1, 69)


def skip_without(missing):
    if missing:
        print(f"skipped, since these are not installed: {', '.join(missing)}")
        sys.exit(77)


def main(arguments):
    if len(arguments) not in (2, 3):
        sys.exit(__doc__)
    skip_without(webdriver.missing())
    screenshots = None
    if arguments[0] == "--build":
        skip_without([] if has_emscripten() else ["Emscripten 3.1.69 or newer"])
        build = pathlib.Path(arguments[1]).resolve()
        folder, npzoo = build / "page", arguments[2]
        subprocess.run([WEB_SH, folder], check=True, env={**os.environ, "BUILD": str(build)}, stdout=subprocess.DEVNULL)
    else:
        folder, npzoo = pathlib.Path(arguments[0]).resolve(), arguments[1]
        screenshots = pathlib.Path(arguments[2]).resolve() if len(arguments) == 3 else None
    check_size(folder)
    with tempfile.TemporaryDirectory() as name, served(folder) as origin:
        page_folder = pathlib.Path(name)
        (page_folder / "downloads").mkdir()
        with webdriver.Browser(page_folder / "downloads") as browser:
            page = Page(browser, page_folder, str(pathlib.Path(npzoo).resolve()))
            page.resize("desktop")
            browser.open(origin + "/index.html")
            check_page(page, folder, screenshots)
            check_requests(browser, origin)
    print("browser: passed")


if __name__ == "__main__":
    main(sys.argv[1:])
