"""The way to an endpoint: the proxies and certificates of the environment, and what is wrong with them."""

import errno
import os
import ssl
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from simulator.core.errors import InputError
from simulator.core.messages import Message, _
from simulator.core.roles import is_http_address

# Characters of a client's error message, which may repeat the whole answer.
_LONGEST = 200
# What this machine is called by itself.
THIS_MACHINE = frozenset(("localhost", "127.0.0.1", "::1", "0.0.0.0"))  # noqa: S104  # nothing is bound to it
# Statuses by which a proxy says that it does not let a request through, or reaches nobody.
OF_PROXIES = (403, 407, 502, 503, 504)
# Variables that name certificates of authorities, a file or a folder: of OpenSSL, requests, curl and Node.
CERTIFICATES = (
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
)  # fmt: skip
# OpenSSL's numbers (X509_V_ERR_...) for a chain that ends at nobody whom this machine trusts.
_NOBODY_TRUSTED = (2, 18, 19, 20, 21, 27)


def proxy_for(address: str) -> str | None:
    """The environment's proxy for an address (HTTPS_PROXY, ALL_PROXY, NO_PROXY); None for this machine."""
    parts, proxies = urlsplit(address), getproxies()
    if is_this_machine(parts.hostname or "") or proxy_bypass(parts.netloc):
        return None
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    # As in `proxy:3128`, which curl takes, too.
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy or None


def is_this_machine(host: str) -> bool:
    """Whether a host is this machine itself, which no proxy can reach."""
    return host.lower() in THIS_MACHINE


def check_way(address: str) -> None:
    """Raises InputError for a proxy that is not spoken to, and for a file of certificates that is not there.

    Known before the first call, which would only say that there is no connection.
    """
    proxy = proxy_for(address)
    if proxy and not is_http_address(proxy):
        msg = _(
            "{variable}={proxy}: only HTTP proxies are supported. Set HTTPS_PROXY=http://host:port, or"
            " NO_PROXY={host} to reach it directly.",
            variable=_proxy_variable(address, proxy),
            proxy=shown_proxy(proxy),
            host=urlsplit(address).hostname,
        )
        raise InputError(msg)
    if not address.startswith("https:"):
        return
    for name in CERTIFICATES:
        path = os.environ.get(name, "")
        if path and not Path(path).exists():
            raise InputError(_("{name}={path}: no such file or folder.", name=name, path=path))
        try:
            _trust(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), path)
        except OSError as error:  # of ssl, too
            reason = getattr(error, "reason", None) or error.strerror or type(error).__name__
            msg = _(
                "{name}={path}: no certificates in it ({reason}); it must be a PEM file"
                " (-----BEGIN CERTIFICATE-----).",
                name=name,
                path=path,
                reason=reason,
            )
            raise InputError(msg) from None


def authorities() -> ssl.SSLContext:
    """Whom models and bots are trusted by: the system's authorities, and those of `CERTIFICATES`."""
    import httpx2

    context = httpx2.create_ssl_context(trust_env=False)
    for name in CERTIFICATES:
        _trust(context, os.environ.get(name, ""))
    return context


def _trust(context: ssl.SSLContext, path: str) -> None:
    if path:
        context.load_verify_locations(**{"capath" if Path(path).is_dir() else "cafile": path})


def shown_proxy(proxy: str) -> str:
    """A proxy's address without its login."""
    before, scheme, rest = proxy.rpartition("://")
    return before + scheme + rest.rpartition("@")[2].partition("/")[0]


def _proxy_variable(address: str, proxy: str) -> str:
    """The variable of the environment that names a proxy, as it is written there."""
    wanted = (f"{urlsplit(address).scheme}_proxy", "all_proxy")
    given = (name for name, value in os.environ.items() if name.lower() in wanted and value in proxy)
    return next((name for name in given if os.environ[name]), "HTTPS_PROXY")


def through(proxy: str | None, message: Message | str) -> Message | str:
    """A failure with the proxy that the request went through."""
    if not proxy:
        return message
    return _("{failure}, through the proxy {proxy}", failure=message, proxy=shown_proxy(proxy))


def blocked_by(error: BaseException, proxy: str | None) -> Message | str | None:
    """What is wrong where no other attempt can succeed: an untrusted certificate, a proxy's refusal."""
    from aiohttp import ClientHttpProxyError

    if isinstance(error, ClientHttpProxyError) and error.status == 407:
        return login_wanted(proxy)
    if isinstance(error, ClientHttpProxyError) and 400 <= error.status < 500:
        return _(
            "the proxy {proxy} refused the connection ({status:d} {reason}); NO_PROXY lists hosts to reach"
            " directly",
            proxy=shown_proxy(proxy or ""),
            status=error.status,
            reason=client_words(error),
        )
    cause: BaseException | None = error
    # aiohttp's own error is one of ssl as well, without what ssl says.
    while cause is not None and not (isinstance(cause, ssl.SSLError) and hasattr(cause, "reason")):
        cause = getattr(cause, "certificate_error", None) or cause.__cause__ or cause.__context__
    if isinstance(cause, ssl.SSLCertVerificationError):
        return through(proxy, _untrusted(cause))
    if cause is not None and cause.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"):
        return through(proxy, _("the server does not speak HTTPS; should it be http://?"))
    return None


def _untrusted(error: ssl.SSLCertVerificationError) -> Message:
    """What is wrong with a certificate, and what to set where it is only not known here."""
    reason = error.verify_message.strip().rstrip(".")
    if error.verify_code not in _NOBODY_TRUSTED:
        return _("its certificate is not valid: {reason}", reason=reason)
    return _(
        "its certificate is not trusted ({reason}): set SSL_CERT_FILE to the certificate (PEM) of its issuer,"
        " usually your company",
        reason=reason,
    )


def login_wanted(proxy: str | None) -> Message:
    """What a proxy's 407 means."""
    return _(
        "the proxy {proxy} requires a login (407): HTTPS_PROXY=http://name:password@host:port; NO_PROXY lists"
        " hosts to reach directly",
        proxy=shown_proxy(proxy or "?"),
    )


def client_words(error: BaseException) -> Message | str:
    """What a client's error is: a usual one in words of ours, else its own message in short."""
    from aiohttp import ClientConnectorDNSError, ClientPayloadError, ServerDisconnectedError

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ClientConnectorDNSError):
            return _("no host of this name is known here")
        if getattr(cause, "errno", None) == errno.ECONNREFUSED:
            return _("nothing listens at this port")
        if isinstance(cause, ServerDisconnectedError | ConnectionResetError):
            return _("the connection was closed without an answer")
        if isinstance(cause, ClientPayloadError):
            return _("the connection was closed within the answer")
        cause = cause.__cause__
    message = " ".join(str(getattr(error, "message", "") or error).split()).replace(" ssl:default", "")
    # Whole words: half a word of a cause cannot be looked up.
    cut = message[:_LONGEST].rpartition(" ")[0] or message[:_LONGEST]
    return (message if len(message) <= _LONGEST else f"{cut} …") or type(error).__name__
