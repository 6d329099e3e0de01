"""Headless Chromium, driven by chromedriver through the WebDriver protocol, without other packages."""

import json
import re
import shutil
import subprocess
import urllib.error
import urllib.request


def missing():
    """The programs that a test in Chromium needs and that are not installed."""
    return [name for name in ("chromium", "chromedriver") if not shutil.which(name)]


class Browser:
    """A context manager; downloads go to a folder."""

    def __init__(self, downloads):
        self.driver = subprocess.Popen([shutil.which("chromedriver"), "--port=0"], stdout=subprocess.PIPE, text=True)
        try:
            port = next(found[1] for line in self.driver.stdout if (found := re.search(r"started successfully on port (\d+)", line)))
            self.address = f"http://127.0.0.1:{port}/session"
            flags = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"]
            options = {"binary": shutil.which("chromium"), "args": flags}
            wanted = {"browserName": "chrome", "goog:chromeOptions": options,
                      "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
            self.address += "/" + self.post("", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
            self.post("/timeouts", {"script": 300_000, "pageLoad": 300_000})
            self.command("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(downloads))
        except BaseException:
            self.driver.terminate()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        try:
            self.send("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()

    def send(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=600) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            fault = json.load(error)["value"]
            raise RuntimeError(f"{path}: {fault['error']}: {fault['message'].splitlines()[0]}") from None

    def post(self, path, body):
        return self.send("POST", path, body)

    def command(self, name, **parameters):
        """A command of Chromium's own protocol."""
        return self.post("/goog/cdp/execute", {"cmd": name, "params": parameters})

    def open(self, url):
        self.post("/url", {"url": url})

    def run(self, script, *arguments):
        """The value that the body of a JavaScript function returns."""
        return self.post("/execute/sync", {"script": script, "args": list(arguments)})

    def element(self, selector):
        return next(iter(self.post("/element", {"using": "css selector", "value": selector}).values()))

    def click(self, selector):
        self.post(f"/element/{self.element(selector)}/click", {})

    def write(self, selector, text):
        """Writes text into a field, or chooses the file of that path."""
        self.post(f"/element/{self.element(selector)}/value", {"text": text})

    def clear(self, selector):
        self.post(f"/element/{self.element(selector)}/clear", {})

    def text(self, selector):
        return self.send("GET", f"/element/{self.element(selector)}/text")

    def drop(self, selector, path):
        """Drops a file of this computer on an element, as a user's mouse does."""
        box = self.run("""const element = document.querySelector(arguments[0]);
            element.scrollIntoView(); return element.getBoundingClientRect().toJSON();""", selector)
        for kind in ("dragEnter", "dragOver", "drop"):
            self.command("Input.dispatchDragEvent", type=kind, x=box["x"] + box["width"] / 2, y=box["y"] + box["height"] / 2,
                         data={"items": [], "files": [str(path)], "dragOperationsMask": 1})

    def log(self, kind):
        return self.post("/se/log", {"type": kind})
