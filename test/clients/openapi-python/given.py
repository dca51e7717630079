"""What the programs share: the client, and what it answers without an error."""

import os
from typing import TypeVar

from rest_api_client import AuthenticatedClient
from rest_api_client.models import ErrorResponse
from rest_api_client.types import Response, Unset

T = TypeVar("T")
client = AuthenticatedClient(base_url=os.environ["SERVICE"], token=os.environ["TOKEN"])


def given(found: T | ErrorResponse | None | Unset) -> T:
    if found is None or isinstance(found, (ErrorResponse, Unset)):
        raise RuntimeError(str(found))
    return found


def failed(response: Response[T | ErrorResponse]) -> ErrorResponse:
    assert isinstance(response.parsed, ErrorResponse)
    return response.parsed


def code(response: Response[T | ErrorResponse]) -> list[object]:
    return [response.status_code.value, failed(response).error.code.value]
