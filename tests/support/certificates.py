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

    def server(
        self, *names: str, not_before: datetime | None = None, not_after: datetime | None = None
    ) -> ssl.SSLContext:
        """Give what a server of these names presents."""
        cert = self.ca.issue_cert(*names, not_before=not_before, not_after=not_after)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        cert.configure_cert(context)
        return context

    def expired(self, *names: str) -> ssl.SSLContext:
        """Give what a server presents that nobody looked after."""
        now = datetime.now(UTC)
        return self.server(
            *names, not_before=now - timedelta(days=20), not_after=now - timedelta(days=10)
        )

    def too_early(self, *names: str) -> ssl.SSLContext:
        """Give a certificate of the day after tomorrow."""
        now = datetime.now(UTC)
        return self.server(
            *names, not_before=now + timedelta(days=2), not_after=now + timedelta(days=20)
        )


def make_authority(folder: Path) -> Authority:
    """Make an authority that nobody knows yet."""
    ca = trustme.CA()
    file = folder / "authority.pem"
    ca.cert_pem.write_to_path(str(file))
    return Authority(file, ca)
