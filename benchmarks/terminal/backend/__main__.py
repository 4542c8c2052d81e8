"""Print the address and serve until killed."""

from benchmarks.terminal.backend.server import BenchServer

if __name__ == "__main__":
    server = BenchServer()
    print(server.url, flush=True)
    server.serve_forever()
