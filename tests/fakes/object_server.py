"""A server of S3, run as a process of its own: moto behind a counter of requests.

It prints its port. `GET /_requests` gives the requests since the last time that it was asked, a
line each; those of Java begin with `java `: some of its clients do not say what they are. Buckets
that begin with `unsafe` ignore `If-None-Match`, as older stores do; those that begin with `refused`
refuse everything and, as stores do, repeat the key of the user.
"""

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server


class Counted:
    """The application, and what it was asked."""

    def __init__(self, application):
        self.application, self.requests = application, []

    def __call__(self, environ, start_response):
        path = environ["PATH_INFO"]
        if path == "/_requests":
            text, self.requests = "\n".join(self.requests), []
            start_response("200 OK", [("Content-Type", "text/plain")])
            return [text.encode()]
        asked = f"?{environ['QUERY_STRING']}" if environ["QUERY_STRING"] else ""
        who = "" if "object_store" in environ.get("HTTP_USER_AGENT", "") else "java "
        self.requests.append(f"{who}{environ['REQUEST_METHOD']} {path}{asked}")
        if path.startswith("/refused"):
            start_response("403 Forbidden", [("Content-Type", "application/xml")])
            key = environ.get("HTTP_AUTHORIZATION", "")
            return [f"<Error><Code>InvalidAccessKeyId</Code>{key}</Error>".encode()]
        if path.startswith("/unsafe"):
            environ.pop("HTTP_IF_NONE_MATCH", None)
        return self.application(environ, start_response)


if __name__ == "__main__":
    application = Counted(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, application, threaded=True)
    print(server.server_port, flush=True)  # noqa: T201  read by who started it
    server.serve_forever()
