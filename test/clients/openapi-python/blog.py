"""Posts, by nothing but the classes that openapi-python-client has made."""

import json

from given import client, code, given
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


post: Post = given(create_post.sync(client=client, body=PostCreate(title="Hello")))
read = given(get_post.sync(post.id, client=client, include="author"))
assert read.author
conditions = PostFilter(titlecontains="ell", created_atgte=post.created_at)
listed = given(list_posts.sync(client=client, filter_=conditions))
equal = given(list_posts.sync(client=client, filter_=PostFilter(title="Hello")))
by_author = Filters.from_dict({"author.role": "admin", "not[title]": "Other"})
related = given(list_posts.sync(client=client, more_filters=by_author))
recent = Filters.from_dict({"id[gte]": "1", "author.role[eq]": "admin"})
counted = given(aggregate_posts.sync(client=client, filter_=recent))
change = PostUpdate(title="Hello again", body="Much")
updated = given(update_post.sync(post.id, client=client, body=change))
replacement = PostReplace(title="New", author_id=post.author_id)
replaced = given(replace_post.sync(post.id, client=client, body=replacement))
of_author = given(list_posts_of_user.sync(post.author_id, client=client))
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
