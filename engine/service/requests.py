"""A connection that serves requests by a table of methods. No request, however broken, ends it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import msgspec
from msgspec import Struct, UnsetType

from engine.protocol import ErrorCode, ProtocolError, Request
from engine.service.frames import Overlong, decode_params, decode_request, encode_error, encode_result, overlong_error
from engine.service.lines import LineProtocol


class Method(Struct, frozen=True):
    """How a method's parameters are read, and what serves them: ``serve(connection, params, request)``.

    ``serve`` gives the answer, or None when that comes later. An ``at_any_time`` method is also served before the
    peer has introduced itself.
    """

    decoder: msgspec.json.Decoder[Any]
    serve: Callable[[Any, Any, Request], Any]
    at_any_time: bool = False


def method(params: type[Any], serve: Callable[[Any, Any, Request], Any], *, at_any_time: bool = False) -> Method:
    """A method whose parameters are of the type ``params``."""
    return Method(msgspec.json.Decoder(params), serve, at_any_time)


class RequestProtocol(LineProtocol):
    """Reads requests, looks them up in ``methods``, answers them."""

    methods: ClassVar[Mapping[str, Method]] = {}

    def __init__(self) -> None:
        super().__init__()
        self.introduced = False

    # -- for those who extend it ------------------------------------------------------------------------------

    @abstractmethod
    def not_introduced(self, name: str) -> ProtocolError:
        """The error that answers a request that comes too early."""

    @abstractmethod
    def failed(self, name: str, fault: Exception) -> None:
        """Serving a request raised what it should not."""

    # -- LineProtocol's side ----------------------------------------------------------------------------------

    def line_received(self, line: bytes) -> None:
        try:
            request = decode_request(line)
        except ProtocolError as error:
            self.send(encode_error(error))
            return
        answer = self._serve_request(request)
        if answer is not None and not isinstance(request.id, UnsetType):
            self.send(answer)

    def overlong_received(self, line: Overlong) -> None:
        self.send(encode_error(overlong_error(line)))

    # -- inside -----------------------------------------------------------------------------------------------

    def _serve_request(self, request: Request) -> bytes | None:
        """The line that answers a request, None when its answer comes later."""
        try:
            answer = self._look_up(request)
            if answer is None:
                return None
            return b"" if isinstance(request.id, UnsetType) else encode_result(request.id, answer)
        except ProtocolError as error:
            error.request = request.id
            return encode_error(error)
        except Exception as fault:  # noqa: BLE001 - a fault in one request ends neither connection nor server
            self.failed(request.method[:64], fault)
            return encode_error(fault_error(fault, request))

    def _look_up(self, request: Request) -> Any:
        found = self.methods.get(request.method)
        if found is None:
            known = ", ".join(self.methods)
            message = f"there is no method {request.method[:64]!r}; there are {known}"
            raise ProtocolError(ErrorCode.UNKNOWN_METHOD, message)
        if not self.introduced and not found.at_any_time:
            raise self.not_introduced(request.method)
        return found.serve(self, decode_params(found.decoder, request), request)


def fault_error(fault: Exception, request: Request) -> ProtocolError:
    """The error that answers a request whose serving failed through no fault of the peer's."""
    return ProtocolError(ErrorCode.INTERNAL, f"{type(fault).__name__}: {fault!s:.500}", request=request.id)
