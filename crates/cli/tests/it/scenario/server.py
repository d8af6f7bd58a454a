"""A server of the scenario: server.py ROLE NAME ADDRESS ARGUMENTS…

store TEXT             answers with the text, as the database and the cache do
web TEXT ADDRESS…      answers with its text, and with those of the servers at the addresses
balancer FOLDER        passes each request to one of the addresses in the files of the folder;
                       /drain/FILE answers when no request is at the server of that file
"""
import http.server, os, sys, threading, urllib.request

role, name, address, *arguments = sys.argv[1:]
changed = threading.Condition()
in_flight, turn = {}, 0


def fetch(address):
    with urllib.request.urlopen(f"http://{address}/") as answer:
        return answer.read().decode()


def next_backend():
    global turn
    while True:
        backends = sorted(os.listdir(arguments[0]))
        backend = backends[turn % len(backends)]
        turn += 1
        try:
            with open(os.path.join(arguments[0], backend)) as file:
                return backend, file.read()
        except FileNotFoundError:
            # The file was removed after the folder was listed.
            continue


def balance(path):
    backend = path.removeprefix("/drain/")
    if backend != path:
        with changed:
            changed.wait_for(lambda: not in_flight.get(backend))
        return "drained"
    with changed:
        backend, address = next_backend()
        in_flight[backend] = in_flight.get(backend, 0) + 1
    try:
        return fetch(address)
    finally:
        with changed:
            in_flight[backend] -= 1
            changed.notify_all()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        try:
            if role == "balancer" and self.path != "/health":
                code, text = 200, balance(self.path)
            elif role == "web":
                code, text = 200, " ".join([arguments[0], *map(fetch, arguments[1:])])
            else:
                code, text = 200, arguments[0]
        except Exception as error:
            code, text = 502, f"{name}: {error!r}"
        self.send_response(code)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


if role == "web" and f"fails at {name}" in arguments[0]:
    sys.exit(1)
host, port = address.split(":")
http.server.ThreadingHTTPServer.request_queue_size = 128
http.server.ThreadingHTTPServer((host, int(port)), Handler).serve_forever()
