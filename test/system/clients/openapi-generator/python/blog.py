"""A post, by nothing but the classes that openapi-generator has made."""

import json
import os

from openapi_client import ApiClient, Configuration, PostCreate, PostsApi, PostUpdate
from openapi_client.exceptions import NotFoundException

configuration = Configuration(host=os.environ["SERVICE"], access_token=os.environ["TOKEN"])
posts = PostsApi(ApiClient(configuration))
created = posts.create_post(PostCreate(title="One"))
updated = posts.update_post(created.id, PostUpdate(body="changed"))
read = posts.get_post(created.id)
listed = posts.list_posts(sort="-id", per_page=1)
posts.delete_post(created.id)
try:
    posts.get_post(created.id)
    missing = 200
except NotFoundException as error:
    missing = error.status
print(
    json.dumps(
        {
            "created": [created.title, created.body],
            "updated": updated.body,
            "read": [read.title, read.created_at == created.created_at],
            "listed": [[post.title for post in listed.data], listed.meta.total],
            "missing": missing,
        }
    )
)
