"""The server gives pages and data to this machine alone, and tells open pages what changed."""

import http.client
import json
import threading
from contextlib import closing

import pytest

from penstock.ui.site.server import LiveSite, SiteServer


class Contents:
    def __init__(self):
        self.now = {"project": 'penstockData("project",{});'}

    def __call__(self):
        return dict(self.now)


@pytest.fixture
def contents():
    return Contents()


@pytest.fixture
def server(tmp_path, contents):
    (tmp_path / "index.html").write_text("<!doctype html>")
    (tmp_path / "site.js").write_text("1")
    made = SiteServer("127.0.0.1", 0, tmp_path, LiveSite(contents))
    threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
    yield made
    made.close()


def ask(server, path, method="GET", host=""):
    with closing(http.client.HTTPConnection(*server.server_address, timeout=5)) as connection:
        connection.putrequest(method, path, skip_host=True)
        connection.putheader("Host", host or f"127.0.0.1:{server.server_address[1]}")
        connection.endheaders()
        with connection.getresponse() as answer:
            return answer.status, answer.read().decode(), answer.headers


@pytest.mark.parametrize(
    ("path", "status", "content", "kind"),
    [
        ("/", 200, "<!doctype html>", "text/html"),
        ("/index.html?x=1", 200, "<!doctype html>", "text/html"),
        ("/site.js", 200, "1", "text/javascript"),
        ("/data/project.js?v=2", 200, 'penstockData("project",{});', "text/javascript"),
        ("/data/nowhere.js", 404, "There is no such page.\n", "text/plain"),
        ("/../../etc/passwd", 404, "There is no such page.\n", "text/plain"),
        ("/data/../index.html", 404, "There is no such page.\n", "text/plain"),
    ],
)
def test_pages_and_data_are_served_from_memory_and_the_bundle(server, path, status, content, kind):
    found = ask(server, path)

    assert found[:2] == (status, content)
    assert found[2]["Content-Type"] == f"{kind}; charset=utf-8"
    assert "default-src 'none'" in found[2]["Content-Security-Policy"]


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "evil.example:80", "127.0.0.1:1"])
def test_a_request_for_another_host_is_refused(server, host):
    assert ask(server, "/", host=host)[0] == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"])
def test_nothing_but_get_is_known(server, method):
    assert ask(server, "/", method=method)[0] == 501


def test_an_open_page_is_told_which_files_changed(server, contents):
    with closing(http.client.HTTPConnection(*server.server_address, timeout=5)) as connection:
        connection.request("GET", "/events")
        with connection.getresponse() as stream:
            lines = [stream.readline(), stream.readline()]
            contents.now = {**contents.now, "model-3": "x"}
            server.site.update()
            server.site.update()  # nothing changed
            kind, lines = stream.headers["Content-Type"], [*lines, stream.readline()]

    told = [json.loads(line.removeprefix(b"data: ")) for line in lines if line.strip()]
    assert kind == "text/event-stream; charset=utf-8"
    assert told == [{"chunks": ["project"]}, {"chunks": ["model-3"]}]  # the first one just now
    assert ask(server, "/data/model-3.js")[1] == "x"


def test_a_site_says_what_changed_after_a_version(contents):
    site = LiveSite(contents)
    first = site.version
    contents.now = {"project": "2", "runs-0": "1"}
    site.update()
    del contents.now["runs-0"]
    site.update()

    assert site.changes(first, 0) == (first + 2, ("project", "runs-0"))
    assert site.changes(first + 2, 0) == (first + 2, ())
    assert (site.version_before(60), site.version_before(0)) == (0, first + 2)
