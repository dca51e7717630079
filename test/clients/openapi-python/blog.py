"""Posts, by nothing but the classes that openapi-python-client has made."""

import json

from environment import client, code, value_of
from rest_api_client.api.posts import (
    aggregate_posts,
    create_post,
    delete_post,
    get_post,
    list_posts,
    list_posts_of_user,
    replace_post,
    update_post,
)
from rest_api_client.models import Filters, Post, PostCreate, PostFilter, PostReplace, PostUpdate


def titles(posts: list[Post]) -> list[str]:
    return [post.title for post in posts]


post: Post = value_of(create_post.sync(client=client, body=PostCreate(title="Hello")))
read = value_of(get_post.sync(post.id, client=client, include="author"))
assert read.author
conditions = PostFilter(titlecontains="ell", created_atgte=post.created_at)
listed = value_of(list_posts.sync(client=client, filter_=conditions))
equal = value_of(list_posts.sync(client=client, filter_=PostFilter(title="Hello")))
by_author = Filters.from_dict({"author.role": "admin", "not[title]": "Other"})
related = value_of(list_posts.sync(client=client, more_filters=by_author))
recent = Filters.from_dict({"id[gte]": "1", "author.role[eq]": "admin"})
counted = value_of(aggregate_posts.sync(client=client, filter_=recent))
change = PostUpdate(title="Hello again", body="Much")
updated = value_of(update_post.sync(post.id, client=client, body=change))
replacement = PostReplace(title="New", author_id=post.author_id)
replaced = value_of(replace_post.sync(post.id, client=client, body=replacement))
of_author = value_of(list_posts_of_user.sync(post.author_id, client=client))
deleted = delete_post.sync_detailed(post.id, client=client)
gone = get_post.sync_detailed(post.id, client=client)
seen = {
    "created": [post.title, post.body, read.author.name],
    "listed": [titles(listed.data), listed.meta.total],
    "equal": titles(equal.data),
    "related": titles(related.data),
    "counted": counted.data[0].count,
    "updated": [updated.title, updated.body],
    "replaced": [replaced.title, replaced.body],
    "ofAuthor": titles(of_author.data),
    "deleted": deleted.status_code.value,
    "gone": code(gone),
}
print(json.dumps(seen))
