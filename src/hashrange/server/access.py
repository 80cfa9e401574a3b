"""How is a request authenticated? By its signature. The account of its access key, and its Region, give the Scope.
What a client's requests share is cached. Refused requests count for those whom their signature names.

Without a credentials file, the syntax, date and credential scope of a signature are checked, but not the signature
itself, and the account is that of the access key (`account_of_key`). With one, these are checked next, in this order:
access key, Regions of the key, signature, signatures of the body's chunks, session token, expiry (signing.md 2,
steps 9 to 11). The Region is that of the credential scope.
"""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from hashrange.aws_services.operation import Signer
from hashrange.clock import Clock
from hashrange.errors import ApiError
from hashrange.limits import SKEW_SECONDS_MAX
from hashrange.operations.operation import Scope
from hashrange.server.credentials import Credential, KnownKey, KnownKeys, account_of_key
from hashrange.service.metric_calls import USER_STATUS
from hashrange.service.service import Service
from hashrange.wire.canonical_request import check_chunks, check_signature, signing_key
from hashrange.wire.chunk_decoder import ChunkSigner
from hashrange.wire.chunked_payload import SIGNED_MARKERS
from hashrange.wire.http import HttpRequest
from hashrange.wire.known_signer import BEFORE_SIGNATURE, SIGNATURE, KnownSigner
from hashrange.wire.sigv4 import Claim, is_region, read_claim, seconds_of

if TYPE_CHECKING:
    from hashrange.sts.sessions import Sessions

SIGNERS_MAX = 1024
DATES_MAX = 256
PREFIX_BYTES_MAX = 2048
_credential = re.compile(rb"Credential=([^/,\s]{1,128})/[0-9]+/([^/,\s]{1,64})/dynamodb/").search


class Access:
    """Authenticates requests. With `credentials` None, signatures are not verified."""

    def __init__(
        self,
        service: Service,
        credentials: Mapping[str, Credential] | None = None,
        wall_time: Callable[[], float] | None = None,
    ) -> None:
        """`wall_time` returns the time with which the dates of signatures are compared; None: the clock's."""
        self._service = service
        self._scope_of = service.scope
        self.wall_time = wall_time or service.clock.wall_time
        self.credentials = credentials
        """Access keys that are let in, by name; None: all are."""
        self.known_keys = (
            None if credentials is None else KnownKeys(credentials, service.clock.service_time, self.wall_time)
        )
        """Checks access keys, and the keys of their sessions; None: all keys are let in."""
        self._signers: dict[bytes, tuple[KnownSigner, str, Scope, bytes | None, KnownKey | None]] = {}
        """Authorization header without signature → checker of its signatures, signing name, Scope,
        session token, and the key if it expires."""
        self._dates: dict[bytes, int] = {}

    def authorize(self, request: HttpRequest, service: str) -> Scope:
        """Return the Scope of the sender, who must have signed for the signing name `service` (such as `dynamodb`).

        Raises the errors of signing.md 3. If the date and the header are cached, it takes 5 µs, or under 1 µs if
        signatures are not verified.
        """
        values = request.values
        layout = request.layout
        authorization = values[layout.authorization]
        date = values[layout.x_amz_date]
        if authorization is not None and date is not None and request.is_root_post:
            try:
                signer, signed_service, scope, token, temporary = self._signers[authorization[BEFORE_SIGNATURE]]
                seconds = self._dates[date]
            except KeyError:
                pass  # errors of the careful path must not refer to this one
            else:
                if (
                    service == signed_service
                    and date.startswith(signer.day)
                    and abs(self.wall_time() - seconds) <= SKEW_SECONDS_MAX
                    and (
                        self.known_keys is None
                        or (
                            values[layout.security_token] == token
                            and signer.matches(request, authorization, date)
                            and (temporary is None or not self.known_keys.is_expired(temporary))
                        )
                    )
                ):
                    return scope
        return self._authorize_carefully(request, service)

    def _authorize_carefully(self, request: HttpRequest, service: str) -> Scope:
        """Return the Scope after every check, in the service's order. A request that is not presigned is remembered."""
        claim = read_claim(request, self.wall_time(), service)
        known: KnownKey | None = None
        regions: tuple[str, ...] | None = None
        if self.known_keys is None:
            account = account_of_key(claim.access_key)
        else:

            def verify(credential: Credential) -> None:
                key = signing_key(credential.secret_key, claim.day, claim.region, claim.service)
                check_signature(request, claim, key)
                check_chunks(request, claim, key)

            known = self.known_keys.check(claim.access_key, claim.session_token, claim.region, verify)
            account, regions = known.credential.account, known.credential.regions
        scope = self._scope_of(account, claim.region, regions)
        if not claim.is_presigned:
            self._remember(request, claim, known, scope)
        return scope

    def authorize_key(
        self, access_key: str, session_token: str | None, region: str, verify: Callable[[Credential], None]
    ) -> Scope:
        """The Scope of an access key whose signature is none that `authorize` knows: `verify` checks it, if signatures
        are verified. Raises the errors of signing.md 3.
        """
        if self.known_keys is None:
            return self._scope_of(account_of_key(access_key), region)
        known = self.known_keys.check(access_key, session_token, region, verify)
        return self._scope_of(known.credential.account, region, known.credential.regions)

    def signer_of(self, request: HttpRequest, service: str) -> Signer:
        """The access key and the session token of a request that `authorize` has accepted."""
        claim = read_claim(request, self.wall_time(), service)
        return Signer(claim.access_key, claim.session_token)

    def chunk_signer(self, request: HttpRequest, service: str) -> ChunkSigner | None:
        """Who has signed the chunks of the body of a request that `authorize` has accepted; None: they are not signed,
        or signatures are not verified.
        """
        if self.known_keys is None or request.header(b"x-amz-content-sha256") not in SIGNED_MARKERS:
            return None
        claim = read_claim(request, self.wall_time(), service)
        known = self.known_keys.find(claim.access_key, claim.session_token)
        assert known is not None, "`authorize` has found it"
        return ChunkSigner(claim, signing_key(known.credential.secret_key, claim.day, claim.region, claim.service))

    def _remember(self, request: HttpRequest, claim: Claim, known: KnownKey | None, scope: Scope) -> None:
        """Cache what the client's next requests repeat: the date, and the Authorization header without its signature.

        The header is cached only if it ends with the signature, as SDKs send it.
        """
        authorization = request.header(b"authorization")
        date = request.header(b"x-amz-date")
        seconds = seconds_of(claim.date)
        if authorization is None or date is None or seconds is None or date.decode("latin-1") != claim.date:
            return
        if len(self._dates) >= DATES_MAX:
            self._dates.clear()
        self._dates[date] = seconds
        prefix, signature = authorization[BEFORE_SIGNATURE], authorization[SIGNATURE]
        if signature != claim.signature or len(prefix) > PREFIX_BYTES_MAX or prefix in self._signers:
            return
        if len(self._signers) >= SIGNERS_MAX:
            self._signers.clear()
        if known is None:
            self._signers[prefix] = (KnownSigner(claim, None), claim.service, scope, None, None)
            return
        credential = known.credential
        token = credential.session_token.encode() if credential.session_token is not None else None
        temporary = known if known.is_temporary else None
        self._signers[prefix] = (KnownSigner(claim, credential.secret_key), claim.service, scope, token, temporary)

    def count_refused(self, request: HttpRequest, error: ApiError) -> None:
        """Count a request to DynamoDB that was refused with this error before it became a call, while metrics are
        recorded: in UserErrors of the account and Region in its Authorization header.

        As in the service, also if its signature is wrong. A request that names no access key that is known counts for
        nobody. Source: developer guide, metrics and dimensions, *UserErrors*.
        """
        recording = self._service.recording
        if recording is None or error.http_status != USER_STATUS:
            return
        found = _credential(request.header(b"authorization") or b"")
        if found is None:
            return
        key, region = found[1].decode("latin-1"), found[2].decode("latin-1")
        if not is_region(region):
            return
        if self.known_keys is None:
            account = account_of_key(key)
        else:
            token = request.header(b"x-amz-security-token")
            known = self.known_keys.find(key, None if token is None else token.decode("latin-1"))
            if known is None:
                return
            account = known.credential.account
        scope = self._scope_of(account, region)
        recording.refused_unread(scope.account, scope.region)


# --- sessions -------------------------------------------------------------------------------------


def sessions_for(access: Access, clock: Clock) -> "Sessions":
    """STS's sessions of those whom `access` lets in: of the access keys of the credentials file or,
    without one, of every access key.
    """
    # Imported here: most servers are never asked for sessions, and start time counts.
    from hashrange.sts.sessions import IssuingKey, Sessions  # noqa: PLC0415

    keys = access.credentials
    issuing = None if keys is None else {name: IssuingKey(one.secret_key, one.account) for name, one in keys.items()}
    return Sessions(issuing, account_of_key, clock.service_time, access.wall_time)
