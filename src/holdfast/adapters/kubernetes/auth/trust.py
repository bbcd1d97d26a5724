"""Which servers are trusted, and what they are shown: authorities, our own certificate, files with tokens."""

import base64
import binascii
import ipaddress
import ssl
from pathlib import Path
from urllib.parse import urlsplit

from holdfast.kernel import Invalid

PEM = "-----BEGIN "


def checked_url(field: str, url: str) -> str:
    """The address, if it can be used: HTTPS, or plain HTTP to this very machine (as of `kubectl proxy`)."""
    try:
        at = urlsplit(url)
        known = at.hostname and at.port != 0 and at.scheme in ("https", "http")
        known = known and not (at.username or at.query or at.fragment)
    except ValueError:
        known = False
    if not known:
        raise Invalid(f"{field}={_bare(url)!r} is no address: write https://host:6443")
    if is_plain(url) and not _is_this_machine(at.hostname or ""):
        raise Invalid(f"{field}={url!r} would send the token unprotected: write https://")
    return url.rstrip("/")


def is_plain(url: str) -> bool:
    """Whether nothing is protected on the way, and neither side proves its identity."""
    return url.lower().startswith("http:")


def _bare(url: str) -> str:
    """Without what may be a password."""
    return url.rpartition("@")[2]


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def authority(field: str, *, file: str = "", text: str = "") -> ssl.SSLContext:
    """Trust in servers that this authority signed, and in no other.  Both empty: the system's authorities.

    As with kubectl, the given certificates are the anchors; the strict rules of newer Pythons
    are off, because the CAs of many clusters do not pass them.
    """
    given = read_text(field, Path(file).expanduser()) if file else text
    try:
        # A file that is empty must not come to mean the system's authorities.
        context = ssl.create_default_context(cadata=pem(field, given) if file or text else None)
    except (ssl.SSLError, ValueError) as error:
        raise Invalid(f"{field} is no certificate authority: {_why(error)} (give it as PEM)") from error
    context.verify_flags = (
        context.verify_flags | ssl.VERIFY_X509_PARTIAL_CHAIN
    ) & ~ssl.VERIFY_X509_STRICT  # the name and the chain are checked all the same
    return context


def pem(field: str, text: str) -> str:
    """PEM, also if it came as base64, as in kubeconfigs, or with `\\n` for line breaks, as in variables."""
    text = text.strip().replace("\\n", "\n")
    if PEM in text:
        return text
    try:
        decoded = base64.b64decode("".join(text.split()), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        decoded = ""
    if PEM not in decoded:
        raise Invalid(
            f"{field} is neither PEM nor base64 of PEM: it begins with {PEM.strip()!r} if it is right"
        )
    return decoded


def show_certificate(field: str, context: ssl.SSLContext, certificate: str, key: str) -> None:
    """Let the server know us by this certificate.  Both are PEM.

    OpenSSL reads them from files only, so they lie for a moment where no other user may look.
    """
    import tempfile  # loads a good deal, and is needed for a certificate alone

    with tempfile.TemporaryDirectory(prefix="holdfast-") as folder:
        both = Path(folder, "client.pem")
        both.touch(mode=0o600)
        both.write_text(f"{certificate}\n{key}\n")
        try:
            context.load_cert_chain(both, password=_no_password)
        except (ssl.SSLError, ValueError) as error:
            raise Invalid(
                f"{field}: certificate and key are not usable together: {_why(error)}"
                " (both as PEM, the key without a password)"
            ) from None


def _no_password() -> str:
    """Asked for by a key that is locked: without this OpenSSL would ask the terminal."""
    return ""


def read_text(field: str, path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        # Without the cause: a decoding error carries the whole file, and with it perhaps a token.
        raise Invalid(f"{field}: {path} cannot be read: {_why(error)}") from None


def token_in(path: Path) -> str:
    token = read_text("the token's file", path).strip()
    if not token:
        raise Invalid(f"the token's file {path} is empty: write the token into it")
    return token


def _why(error: Exception) -> str:
    """In the system's own words, without what the file holds."""
    if isinstance(error, ssl.SSLError):
        return error.reason or "not PEM"
    return error.strerror or type(error).__name__ if isinstance(error, OSError) else type(error).__name__
