"""Posts, by nothing but the classes that openapi-python-client has made."""

import json

from given import client, code, given
from rest_api_client.api.posts import (
    create_post,
    delete_post,
    get_post,
    list_posts,
    list_posts_of_user,
    replace_post,
    update_post,
)
from rest_api_client.models import Post, PostCreate, PostList, PostReplace, PostUpdate


def titles(posts: list[Post]) -> list[str]:
    return [post.title for post in posts]


post: Post = given(create_post.sync(client=client, body=PostCreate(title="Hello")))
read = given(get_post.sync(post.id, client=client, include="author"))
assert read.author
# Its functions write conditions as their text, since it does not read `style`: they filter by equality alone.
conditions = {"title[contains]": "ell", "created_at[gte]": post.created_at.isoformat()}
answer = client.get_httpx_client().get("/api/v1/posts", params=conditions)
listed = PostList.from_dict(answer.json())
equal = given(list_posts.sync(client=client, title="Hello"))
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
    "updated": [updated.title, updated.body],
    "replaced": [replaced.title, replaced.body],
    "ofAuthor": titles(of_author.data),
    "deleted": deleted.status_code.value,
    "gone": code(gone),
}
print(json.dumps(seen))
