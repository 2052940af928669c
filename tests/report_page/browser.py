"""A headless Chromium, told by DevTools' protocol over pipes what to do: no driver, no socket, nothing from PyPI."""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
from typing import Any, Dict, List, Optional

_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def find_browser() -> Optional[str]:
    return next((path for path in map(shutil.which, _NAMES) if path), None)


class Browser:
    """One window. `console`: what the page said there since it was opened, errors and exceptions too; `requests`: what
    it asked to load, but for itself."""

    def __init__(self, program: str, width: int = 1280, height: int = 900) -> None:
        self._folder = tempfile.mkdtemp()
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()

        def take_pipes() -> None:  # Chromium reads descriptor 3 and writes 4.
            os.dup2(to_browser, 30)
            os.dup2(from_browser, 31)
            os.dup2(30, 3)
            os.dup2(31, 4)

        self._process = subprocess.Popen(
            [
                program,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--remote-debugging-pipe",
                f"--user-data-dir={self._folder}",
                f"--window-size={width},{height}",
                "--hide-scrollbars",
                "about:blank",
            ],
            close_fds=False,
            preexec_fn=take_pipes,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._left = b""
        self._last = 0
        self._events: List[Dict[str, Any]] = []
        self._session: Optional[str] = None
        self.console: List[str] = []
        self.requests: List[str] = []
        target = self._call("Target.getTargets")["targetInfos"][0]["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _read(self) -> Dict[str, Any]:
        while b"\0" not in self._left:
            part = os.read(self._in, 1 << 20)
            if not part:
                raise RuntimeError("the browser ended")
            self._left += part
        message, _, self._left = self._left.partition(b"\0")
        return dict(json.loads(message))

    def _take(self, event: Dict[str, Any]) -> None:
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.console.append(
                " ".join(str(each.get("value", each.get("description"))) for each in parameters["args"])
            )
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.console.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded":
            self.console.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            url = parameters["request"]["url"]
            if parameters.get("type") != "Document" and not url.startswith("data:"):
                self.requests.append(url)
        self._events.append(event)

    def _call(self, method: str, **parameters: Any) -> Dict[str, Any]:
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") != self._last:
                self._take(answer)
                continue
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
            return dict(answer["result"])

    def _go(self, url: str) -> None:
        self._events.clear()
        self._call("Page.navigate", url=url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self._events):
            self._take(self._read())

    def open(self, path: pathlib.Path, fragment: str = "") -> None:
        """Returns when the page has run all that it runs by itself."""
        self._go("about:blank")  # A page that only gets another fragment is not loaded anew.
        self.console.clear()
        self.requests.clear()
        self._go(path.resolve().as_uri() + (f"#{fragment}" if fragment else ""))
        self._events.clear()

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", "an exception"))
        return answer["result"].get("value")

    def text(self, selector: str = "main") -> str:
        """What a reader sees of an element, texts of charts included."""
        return str(
            self.run(
                f"document.querySelector({json.dumps(selector)}).innerText + '\\n' + "
                f"[...document.querySelectorAll({json.dumps(selector + ' svg text')})]"
                ".map((each) => each.textContent).join('\\n')"
            )
        )

    def press(self, key: str) -> None:
        """Tab, Enter, ..."""
        codes = {"Tab": 9, "Enter": 13, "Space": 32}
        extra = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self._call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=codes[key],
                **(extra if kind == "keyDown" else {}),
            )

    def type(self, text: str) -> None:
        self._call("Input.insertText", text=text)

    def prefer(self, scheme: str) -> None:
        """light or dark, as the system would say it."""
        self._call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def screenshot(self, file: pathlib.Path, height: Optional[float] = None) -> None:
        """The page from its top, in its full height unless another is given, as .png or .webp."""
        size = self._call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": height or min(size["height"], 8000), "scale": 1}
        form = {"format": "webp", "quality": 70} if file.suffix == ".webp" else {"format": "png"}
        image = self._call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip, **form)
        file.write_bytes(base64.b64decode(image["data"]))
