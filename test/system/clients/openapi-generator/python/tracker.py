"""A project and its task, by nothing but the classes that openapi-generator has made."""

import json
import os

from openapi_client import (
    ApiClient,
    Configuration,
    FoundOrganizationInput,
    OrganizationsApi,
    ProjectCreate,
    ProjectsApi,
    TaskCreate,
    TasksApi,
    TaskStatus,
    TaskUpdate,
)

client = ApiClient(Configuration(host=os.environ["SERVICE"], access_token=os.environ["TOKEN"]))
tasks = TasksApi(client)
organization = OrganizationsApi(client).found_organization(FoundOrganizationInput(name="Engines"))
project = ProjectsApi(client).create_project(ProjectCreate(organization_id=organization.id, name="Loom"))
created = tasks.create_task(TaskCreate(project_id=project.id, title="Weave", status=TaskStatus.TaskStatusDoing))
updated = tasks.update_task(created.id, TaskUpdate(status=TaskStatus.TaskStatusDone, details=None))
listed = tasks.list_tasks_of_project(project.id)
tasks.trash_task(created.id)
trashed = tasks.get_task(created.id)
print(
    json.dumps(
        {
            "created": [created.title, created.status, created.points],
            "updated": [updated.status, updated.details],
            "listed": [task.title for task in listed.data],
            "trashed": trashed.deleted_at is not None,
        }
    )
)
