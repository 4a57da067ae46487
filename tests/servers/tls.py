"""Servers over TLS, with a certificate of an authority that only the test trusts."""

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import Self

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.servers.bot import BotServer
from tests.servers.loopback import LoopbackServer
from tests.servers.openai import OpenAIServer


def write_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that vouches for itself, and its key, as PEM files."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "A company's own authority")])
    now = datetime.now(tz=UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    public, private = folder / "ca.pem", folder / "key.pem"
    public.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8
    plain = serialization.NoEncryption()
    private.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))
    return public, private


class _OverTls(LoopbackServer):
    """A server at https://; `certify` comes before its start."""

    ca: Path
    _context: ssl.SSLContext

    def certify(self, folder: Path) -> None:
        """Writes the certificate into a folder."""
        self.ca, key = write_certificate(folder)
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._context.load_cert_chain(self.ca, key)

    @property
    def url(self) -> str:
        """The address clients are given."""
        return super().url.replace("http://", "https://")

    async def __aenter__(self) -> Self:
        server = web.Server(self.handle, handler_cancellation=True, access_log=None)
        self._runner = web.ServerRunner(server, shutdown_timeout=0.01)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port, ssl_context=self._context).start()
        self.port = self._runner.addresses[0][1]
        return self


class TlsBotServer(_OverTls, BotServer):
    """A BotServer at https://."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.certify(folder)


class TlsModelServer(_OverTls, OpenAIServer):
    """An OpenAIServer at https://."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.certify(folder)
