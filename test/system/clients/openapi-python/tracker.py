"""A project and its tasks, by nothing but the classes that openapi-python-client has made."""

import datetime
import json

from environment import client, failed, value_of
from rest_api_client.api.organizations import found_organization, report_of_organization
from rest_api_client.api.projects import archive_project, create_project, delete_project
from rest_api_client.api.tasks import (
    aggregate_tasks,
    create_task,
    list_tasks,
    list_tasks_of_project,
    restore_task,
    trash_task,
    update_task,
)
from rest_api_client.models import (
    Filters,
    FoundOrganizationInput,
    ProjectCreate,
    ReportOfOrganizationOutput,
    Task,
    TaskCreate,
    TaskFilter,
    TaskStatus,
    TaskUpdate,
)


def add(task: TaskCreate) -> Task:
    return value_of(create_task.sync(client=client, body=task))


def titles(tasks: list[Task]) -> list[str]:
    return [task.title for task in tasks]


engines = FoundOrganizationInput(name="Engines")
organization = value_of(found_organization.sync(client=client, body=engines))
loom = ProjectCreate(organization_id=organization.id, name="Loom")
project = value_of(create_project.sync(client=client, body=loom))
weave = add(TaskCreate(project_id=project.id, title="Weave"))
due_on = datetime.date(2026, 12, 24)
add(TaskCreate(project_id=project.id, title="Card", status=TaskStatus.TASK_STATUS_DOING, due_on=due_on))
now = TaskCreate(project_id=project.id, title="Now", urgent=True)
urgent = failed(create_task.sync_detailed(client=client, body=now)).error
assert urgent.details
doing = value_of(
    list_tasks_of_project.sync(project.id, client=client, filter_=TaskFilter(statusne=TaskStatus.TASK_STATUS_OPEN), sort="-title")
)
conditions = TaskFilter(titlecontains="eav", created_atgte=weave.created_at)
listed = value_of(list_tasks.sync(client=client, filter_=conditions))
equal = value_of(list_tasks.sync(client=client, filter_=TaskFilter(title="Card")))
of_loom = Filters.from_dict({"project.name": "Loom", "not[title]": "Card"})
related = value_of(list_tasks.sync(client=client, more_filters=of_loom))
recent = Filters.from_dict({"id[gte]": "1", "project.name[eq]": "Loom"})
counted = value_of(aggregate_tasks.sync(client=client, filter_=recent))
change = TaskUpdate(status=TaskStatus.TASK_STATUS_DONE)
done = value_of(update_task.sync(weave.id, client=client, body=change))
archived = value_of(archive_project.sync(project.id, client=client))
report: ReportOfOrganizationOutput = value_of(
    report_of_organization.sync(client=client, id=organization.id)
)
groups = value_of(aggregate_tasks.sync(client=client, group_by="status"))
trashed = trash_task.sync_detailed(weave.id, client=client)
restored = value_of(restore_task.sync(weave.id, client=client))
deleted = delete_project.sync_detailed(project.id, client=client)
seen = {
    "task": [weave.title, weave.status.value, weave.points, weave.details],
    "urgent": [urgent.code.value, urgent.details[0].field],
    "doing": [[task.title, task.due_on and task.due_on.isoformat()] for task in doing.data],
    "listed": [titles(listed.data), listed.meta.total],
    "equal": titles(equal.data),
    "related": titles(related.data),
    "counted": counted.data[0].count,
    "done": done.completed_at is not None,
    "archived": archived.archived_at is not None,
    "report": [report.open_, report.doing, report.done, report.dropped],
    "groups": [group.count for group in groups.data],
    "trashed": trashed.status_code.value,
    "restored": [restored.title, restored.deleted_at],
    "deleted": deleted.status_code.value,
}
print(json.dumps(seen))
