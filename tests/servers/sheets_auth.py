"""Authentication: service accounts that sign for themselves (RS256), and people's refresh tokens."""

import secrets
from functools import cache
from typing import NamedTuple

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth import jwt

from tests.servers.sheets_errors import Json, invalid_credential

SCOPES = ("https://www.googleapis.com/auth/spreadsheets", "https://www.googleapis.com/auth/drive")
CLIENT_ID, CLIENT_SECRET = "1234567890-desktop.apps.googleusercontent.com", "GOCSPX-not-a-secret"
JWT_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"


class Account(NamedTuple):
    """Somebody with an address: a service account of a project, or a person."""

    email: str
    project: str
    is_service: bool


@cache
def key_pair() -> tuple[str, str]:
    """A private and a public key in PEM, made once a process."""
    # Every push reads it anew, and to examine one of the usual length takes 25 ms.
    key = rsa.generate_private_key(public_exponent=65537, key_size=1024)  # noqa: S505 - it guards nothing
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private.decode(), public.decode()


class Accounts:
    """The accounts there are, the token endpoint's rules, and the tokens it gave."""

    def __init__(self) -> None:
        self.known: dict[str, Account] = {}
        self.tokens: dict[str, Account] = {}
        self.refresh_tokens: dict[str, Account] = {}
        self.revoked: set[str] = set()

    def service_account(self, email: str, token_uri: str, project: str = "123456789012") -> Json:
        """The contents of a service account's key file."""
        self.known[email] = Account(email, project, True)
        return {
            "type": "service_account",
            "project_id": f"project-{project}",
            "private_key_id": "k1",
            "private_key": key_pair()[0],
            "client_email": email,
            "client_id": "1" * 21,
            "token_uri": token_uri,
        }

    def person(self, email: str, project: str = "123456789012") -> str:
        """A person's refresh token, as left behind by a sign-in in a browser."""
        self.known[email] = account = Account(email, project, False)
        token = "1//" + secrets.token_urlsafe(12)
        self.refresh_tokens[token] = account
        return token

    def revoke(self, email: str) -> None:
        """Take all tokens of an account away; it gets no new ones."""
        self.revoked.add(email)
        self.tokens = {text: token for text, token in self.tokens.items() if token.email != email}

    def exchange(self, form: dict[str, str], token_uri: str) -> tuple[int, Json]:
        """The token endpoint: status and body for a form."""
        if form.get("grant_type") == JWT_GRANT:
            return self._by_assertion(form.get("assertion", ""), token_uri)
        assert form.get("grant_type") == "refresh_token"
        return self._by_refresh_token(form)

    def _by_assertion(self, assertion: str, token_uri: str) -> tuple[int, Json]:
        # google-auth names Google as the audience, whatever the key file's token_uri says.
        audience = [token_uri, "https://oauth2.googleapis.com/token"]
        claims = jwt.decode(assertion, certs=key_pair()[1], audience=audience)  # type: ignore[no-untyped-call]
        account = self.known.get(claims.get("iss", ""))
        if account is None or not account.is_service or account.email in self.revoked:
            return _refused("invalid_grant", "Invalid grant: account not found")
        return 200, self._granted(account, claims["scope"].split())

    def _by_refresh_token(self, form: dict[str, str]) -> tuple[int, Json]:
        if (form.get("client_id"), form.get("client_secret")) != (CLIENT_ID, CLIENT_SECRET):
            return _refused("invalid_client", "The OAuth client was not found.", 401)
        account = self.refresh_tokens.get(form.get("refresh_token", ""))
        if account is None or account.email in self.revoked:
            return _refused("invalid_grant", "Token has been expired or revoked.")
        return 200, self._granted(account, form.get("scope", " ".join(SCOPES)).split())

    def _granted(self, account: Account, scopes: list[str]) -> Json:
        text = "ya29." + secrets.token_urlsafe(24)
        self.tokens[text] = account
        told: Json = {"access_token": text, "expires_in": 3600, "token_type": "Bearer"}
        return told | {"scope": " ".join(scopes)}

    def caller(self, header: str, method: str, required: bool) -> Account | None:
        """Who sent the Authorization header; None for nobody, where that is allowed."""
        scheme, _, text = header.partition(" ")
        if not header and not required:
            return None
        token = self.tokens.get(text) if scheme == "Bearer" else None
        if token is None:
            raise invalid_credential(method)
        return token


def _refused(error: str, text: str, status: int = 400) -> tuple[int, Json]:
    return status, {"error": error, "error_description": text}
