"""The floor: `cat` copies the bare text of an answer to the terminal: `plain_cat.py URL`."""

import re
import socket
import subprocess
import sys
from urllib.parse import urlsplit

PROMPT = "Say something> "


def main() -> None:
    server = urlsplit(sys.argv[1])
    while True:
        sys.stdout.write(PROMPT)
        sys.stdout.flush()
        line = sys.stdin.readline()
        if not line:
            return
        query = "&".join(f"{key}={value}" for key, value in re.findall(r"\b(n|r|id)=(\S+)", line))
        with socket.create_connection((server.hostname, server.port or 80)) as connection:
            connection.sendall(f"GET /raw?{query} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
            head = b""
            while not head.endswith(b"\r\n\r\n"):  # not a byte of the text may be taken
                head += connection.recv(1)
            subprocess.run(["cat"], stdin=connection.fileno(), check=False)


if __name__ == "__main__":
    main()
