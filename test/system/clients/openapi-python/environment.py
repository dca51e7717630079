"""What the programs share: the client, and checks of its responses."""

import os
from typing import TypeVar

from rest_api_client import AuthenticatedClient
from rest_api_client.models import ErrorResponse
from rest_api_client.types import Response, Unset

T = TypeVar("T")
client = AuthenticatedClient(base_url=os.environ["SERVICE"], token=os.environ["TOKEN"])


def value_of(answer: T | ErrorResponse | None | Unset) -> T:
    if answer is None or isinstance(answer, (ErrorResponse, Unset)):
        raise RuntimeError(str(answer))
    return answer


def failed(response: Response[T | ErrorResponse]) -> ErrorResponse:
    assert isinstance(response.parsed, ErrorResponse)
    return response.parsed


def code(response: Response[T | ErrorResponse]) -> list[object]:
    return [response.status_code.value, failed(response).error.code.value]
