"""A service on the loopback that speaks OpenAI's embeddings protocol, and can misbehave."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from support.standins import vector


class EmbeddingServer:
    """Answers with vectors of ``size`` numbers; ``replies`` are sent first, as (status, headers, body)."""

    def __init__(self, size=8):
        self.size, self.asked, self.headers, self.replies = size, [], [], []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                outer.headers.append(dict(self.headers))
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append((self.path, body))
                status, headers, reply = outer.replies.pop(0) if outer.replies else (200, {}, outer.good(body["input"]))
                content = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
                self.send_response(status)
                for name, value in {"Content-Length": str(len(content)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def good(self, texts):
        """Vectors in any order, as the protocol allows."""
        data = [{"index": i, "embedding": vector(text, self.size).tolist()} for i, text in enumerate(texts)]
        return {"data": data[::-1]}

    def stop(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
