"""Certificates made for one test, and what a server with them needs."""

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme


@dataclass(frozen=True)
class Authority:
    """An authority of a test's own; its file is what `ca_file` names."""

    file: Path
    ca: trustme.CA

    def server(self, *names: str, days: tuple[int, int] | None = None) -> ssl.SSLContext:
        """Give what a server of these names presents; `days` from now bound when it is valid."""
        start, end = (datetime.now(UTC) + timedelta(day) for day in days) if days else (None, None)
        cert = self.ca.issue_cert(*names, not_before=start, not_after=end)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        cert.configure_cert(context)
        return context

    def expired(self, *names: str) -> ssl.SSLContext:
        return self.server(*names, days=(-20, -10))

    def too_early(self, *names: str) -> ssl.SSLContext:
        return self.server(*names, days=(2, 20))


def make_authority(folder: Path) -> Authority:
    ca = trustme.CA()
    file = folder / "authority.pem"
    ca.cert_pem.write_to_path(str(file))
    return Authority(file, ca)
