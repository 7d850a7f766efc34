"""As much of S3 as reading takes: list, head, and ranges of objects, from a directory of buckets."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

_DATE = "Mon, 01 Jan 2024 00:00:00 GMT"


class _Handler(BaseHTTPRequestHandler):
    root: Path
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Nothing on stderr."""

    def do_HEAD(self) -> None:
        self._object(head=True)

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        if "list-type" in query:
            self._list(query)
        else:
            self._object(head=False)

    def _path(self) -> Path:
        return self.root / unquote(urlsplit(self.path).path).strip("/")

    def _object(self, head: bool) -> None:
        path = self._path()
        if path.is_dir() and path.parent == self.root:
            self._answer(200, b"", {"x-amz-bucket-region": "us-east-1"})
        elif not path.is_file():
            self._answer(404, b"")
        else:
            data, status, more = path.read_bytes(), 200, {"Last-Modified": _DATE, "ETag": '"x"'}
            asked = self.headers.get("Range")
            size = len(data)
            if asked and not head:
                first, last = (int(n) for n in asked.removeprefix("bytes=").split("-"))
                data, status = data[first : last + 1], 206
                more["Content-Range"] = f"bytes {first}-{first + len(data) - 1}/{size}"
            self._answer(status, data, more, head=head)

    def _list(self, query: dict[str, list[str]]) -> None:
        bucket, prefix = self._path(), query.get("prefix", [""])[0]
        if not bucket.is_dir():
            self._answer(404, b"<Error><Code>NoSuchBucket</Code><Message>no bucket</Message></Error>")
            return
        directory = bucket / prefix
        parts = []
        for path in sorted(directory.iterdir()) if prefix[-1:] in ("", "/") and directory.is_dir() else []:
            key = escape(str(path.relative_to(bucket)))
            if path.is_dir():
                parts.append(f"<CommonPrefixes><Prefix>{key}/</Prefix></CommonPrefixes>")
            else:
                parts.append(
                    f"<Contents><Key>{key}</Key><Size>{path.stat().st_size}</Size>"
                    "<LastModified>2024-01-01T00:00:00.000Z</LastModified></Contents>"
                )
        body = (
            '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<Name>{bucket.name}</Name><Prefix>{escape(prefix)}</Prefix><KeyCount>{len(parts)}</KeyCount>"
            f"<MaxKeys>1000</MaxKeys><IsTruncated>false</IsTruncated>{''.join(parts)}</ListBucketResult>"
        )
        self._answer(200, body.encode(), {"Content-Type": "application/xml"})

    def _answer(self, status: int, body: bytes, more: dict[str, str] | None = None, head: bool = False) -> None:
        self.send_response(status)
        for name, value in (more or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if not head:
            self.wfile.write(body)


@contextmanager
def serve(root: Path) -> Iterator[str]:
    """Serve the directories of `root` as buckets; the endpoint's URL."""
    handler = type("Handler", (_Handler,), {"root": root})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
