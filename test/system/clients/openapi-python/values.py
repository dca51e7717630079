"""Writes and reads things by nothing but the classes that openapi-python-client has made."""

import datetime
import json

from environment import client, code, failed, value_of
from rest_api_client.api.things import (
    create_thing,
    delete_thing,
    get_thing,
    list_things,
    replace_thing,
    update_thing,
)
from rest_api_client.models import (
    Thing,
    ThingCreate,
    ThingCreateShapeType0,
    ThingFilter,
    ThingLevel,
    ThingMood,
    ThingReplace,
    ThingShapeUnit,
    ThingState,
    ThingUpdate,
    ThingUpdateShapeType0,
)

def names(things: list[Thing]) -> list[str]:
    return [thing.name for thing in things]


def shape(thing: Thing) -> object:
    return None if thing.shape is None else thing.shape.to_dict()


def page() -> dict[str, object]:
    found = value_of(list_things.sync(client=client, page=2, per_page=2, sort="name"))
    return {"names": names(found.data), "total": found.meta.total, "page": found.meta.page}


def cursor() -> list[list[str]]:
    pages: list[list[str]] = []
    at: str | None = ""
    while at is not None:
        found = value_of(list_things.sync(client=client, cursor=at, per_page=2))
        pages.append(names(found.data))
        at = found.meta.next_cursor or None
    return pages


def create(body: ThingCreate) -> Thing:
    return value_of(create_thing.sync(client=client, body=body))


def main() -> dict[str, object]:
    one = create(
        ThingCreate(
            name="one",
            large=2**53 - 1,
            ratio=0.5,
            state=ThingState.THING_STATE_IN_BETWEEN,
            payload={"a": [1, None]},
            tags=["x"],
            shape=ThingCreateShapeType0(width=3, unit=ThingShapeUnit.THING_SHAPE_UNIT_MM),
            either=7,
            level=ThingLevel.THING_LEVEL_LOW,
            day=datetime.date(2026, 1, 31),
            at=datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.timezone.utc),
            mail="ada@example.com",
            link="https://example.com/",
            owner_id=1,
        )
    )
    two = create(ThingCreate(name="two", parent_id=one.id))
    three = create(ThingCreate(name="three"))
    included = value_of(get_thing.sync(two.id, client=client, include="parent.owner")).parent
    assert included and included.owner
    merged = ThingUpdateShapeType0.from_dict({"unit": None})
    change = ThingUpdate(
        body="changed", mood=ThingMood.THING_MOOD_GOOD, mail=None, payload={"a": None, "b": 1}, shape=merged
    )
    updated = value_of(update_thing.sync(one.id, client=client, body=change))
    pages, cursors = page(), cursor()
    filtered = value_of(list_things.sync(client=client, filter_=ThingFilter(statein="in-between,done")))
    replaced = value_of(replace_thing.sync(one.id, client=client, body=ThingReplace(name="replaced")))
    conflict = create_thing.sync_detailed(client=client, body=ThingCreate(name="two"))
    details = failed(conflict).error.details
    assert details
    deleted = delete_thing.sync_detailed(three.id, client=client)
    missing = get_thing.sync_detailed(three.id, client=client)
    assert one.day and one.at
    instant = one.at.astimezone(datetime.timezone.utc).isoformat(timespec="milliseconds")
    return {
        "created": [
            *[one.large, one.ratio, one.state.value, one.mood, one.payload, one.tags],
            *[shape(one), one.either, one.level.value if one.level else None],
        ],
        "dates": [one.day.isoformat(), instant.replace("+00:00", "Z"), one.link],
        "defaults": [
            *[three.state.value, three.active, three.payload, three.tags, shape(three), three.owner_id],
        ],
        "included": [included.name, included.owner.name],
        "updated": [
            *[updated.body, updated.mood and updated.mood.value, updated.mail, updated.payload],
            shape(updated),
        ],
        "page": pages,
        "cursor": cursors,
        "filtered": names(filtered.data),
        "replaced": [replaced.name, replaced.state.value, replaced.mood],
        "conflict": [*code(conflict), details[0].field],
        "deleted": deleted.status_code.value,
        "missing": code(missing),
    }


print(json.dumps(main()))
