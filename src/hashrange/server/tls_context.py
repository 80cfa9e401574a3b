"""With which certificate and private key does the server listen? Those of the files in the settings;
the TLS versions are Python's defaults.
"""

import ssl

from hashrange.settings import Settings, SettingUnusable


class TlsFilesError(SettingUnusable):
    """Certificate and key cannot be used; the message names the files, the reason and the remedy."""


def tls_context(settings: Settings) -> ssl.SSLContext | None:
    """Return the configured TLS context; None without a certificate. Raises TlsFilesError for unusable files."""
    if settings.tls_cert is None:
        return None

    def refuse_passphrase() -> str:
        """Raise TlsFilesError for a locked key: OpenSSL would ask for the passphrase on the terminal, and wait."""
        raise TlsFilesError(
            f"the private key {settings.tls_key} is locked with a passphrase, which a server cannot be told."
            f" Unlock it: openssl pkey -in {settings.tls_key} -out unlocked.pem."
        )

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.options |= ssl.OP_NO_RENEGOTIATION  # a second handshake would bypass the queue (`handshakes.py`)
    try:
        context.load_cert_chain(settings.tls_cert, settings.tls_key, refuse_passphrase)
    except OSError as error:  # includes ssl.SSLError
        raise TlsFilesError(
            f"TLS cannot start with {settings.tls_cert} and {settings.tls_key}: {error.strerror or error}."
            " Both must be readable PEM files that belong together."
        ) from error
    return context
