// A project and its tasks, by nothing but the types and functions that oapi-codegen has made.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/oapi-codegen/nullable"
	"github.com/oapi-codegen/runtime/types"
)

var ctx = context.Background()

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func valueOf[T any](value *T, body []byte) T {
	if value == nil {
		panic(string(body))
	}
	return *value
}

func ptr[T any](value T) *T { return &value }

func null[T any](value nullable.Nullable[T]) any {
	if value.IsNull() {
		return nil
	}
	return must(value.Get())
}

func add(client *ClientWithResponses, task TaskCreate) Task {
	answer := must(client.CreateTaskWithResponse(ctx, nil, task))
	return valueOf(answer.JSON201, answer.Body)
}

func doing(client *ClientWithResponses, project Project) []any {
	filter := TaskFilter{StatusNe: ptr(TaskStatus("open"))}
	params := ListTasksOfProjectParams{Filter: &filter, Sort: ptr("-title")}
	answer := must(client.ListTasksOfProjectWithResponse(ctx, project.Id, &params))
	found := []any{}
	for _, task := range valueOf(answer.JSON200, answer.Body).Data {
		found = append(found, []any{task.Title, null(task.DueOn)})
	}
	return found
}

func list(client *ClientWithResponses, params ListTasksParams) TaskList {
	answer := must(client.ListTasksWithResponse(ctx, &params))
	return valueOf(answer.JSON200, answer.Body)
}

func titles(tasks []Task) []string {
	found := []string{}
	for _, task := range tasks {
		found = append(found, task.Title)
	}
	return found
}

func groups(client *ClientWithResponses) []any {
	answer := must(client.AggregateTasksWithResponse(ctx, &AggregateTasksParams{GroupBy: ptr("status")}))
	counts := []any{}
	for _, group := range valueOf(answer.JSON200, answer.Body).Data {
		counts = append(counts, group.Count)
	}
	return counts
}

func main() {
	token := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("TOKEN"))
		return nil
	}
	client := must(NewClientWithResponses(os.Getenv("SERVICE"), WithRequestEditorFn(token)))
	founded := must(client.FoundOrganizationWithResponse(ctx, nil, FoundOrganizationInput{Name: "Engines"}))
	organization := valueOf(founded.JSON200, founded.Body)
	begun := must(client.CreateProjectWithResponse(ctx, nil, ProjectCreate{OrganizationId: organization.Id, Name: "Loom"}))
	project := valueOf(begun.JSON201, begun.Body)
	weave := add(client, TaskCreate{ProjectId: project.Id, Title: "Weave"})
	due := types.Date{Time: time.Date(2026, 12, 24, 0, 0, 0, 0, time.UTC)}
	add(client, TaskCreate{
		ProjectId: project.Id,
		Title:     "Card",
		Status:    ptr(TaskStatus("doing")),
		DueOn:     nullable.NewNullableWithValue(due),
	})
	now := TaskCreate{ProjectId: project.Id, Title: "Now", Urgent: ptr(true)}
	refused := must(client.CreateTaskWithResponse(ctx, nil, now))
	urgent := valueOf(refused.JSONDefault, refused.Body).Error
	found := doing(client, project)
	listed := list(client, ListTasksParams{
		Filter: &TaskFilter{TitleContains: ptr("eav"), CreatedAtGte: &weave.CreatedAt},
	})
	equal := list(client, ListTasksParams{Filter: &TaskFilter{Title: ptr("Card")}})
	related := list(client, ListTasksParams{MoreFilters: &Filters{"project.name": "Loom", "not[title]": "Card"}})
	recent := Filters{"id[gte]": "1", "project.name[eq]": "Loom"}
	counted := must(client.AggregateTasksWithResponse(ctx, &AggregateTasksParams{Filter: &recent}))
	patch := must(client.UpdateTaskWithResponse(ctx, weave.Id, nil, TaskUpdate{Status: ptr(TaskStatus("done"))}))
	done := valueOf(patch.JSON200, patch.Body)
	archived := must(client.ArchiveProjectWithResponse(ctx, project.Id, nil))
	query := must(client.ReportOfOrganizationWithResponse(ctx, &ReportOfOrganizationParams{Id: organization.Id}))
	report := valueOf(query.JSON200, query.Body)
	counts := groups(client)
	trashed := must(client.TrashTaskWithResponse(ctx, weave.Id, nil))
	back := must(client.RestoreTaskWithResponse(ctx, weave.Id, nil))
	restored := valueOf(back.JSON200, back.Body)
	deleted := must(client.DeleteProjectWithResponse(ctx, project.Id, nil))
	seen := map[string]any{
		"task":     []any{weave.Title, weave.Status, weave.Points, null(weave.Details)},
		"urgent":   []any{urgent.Code, (*urgent.Details)[0].Field},
		"doing":    found,
		"listed":   []any{titles(listed.Data), listed.Meta.Total},
		"equal":    titles(equal.Data),
		"related":  titles(related.Data),
		"counted":  valueOf(counted.JSON200, counted.Body).Data[0].Count,
		"done":     !done.CompletedAt.IsNull(),
		"archived": !valueOf(archived.JSON200, archived.Body).ArchivedAt.IsNull(),
		"report":   []any{report.Open, report.Doing, report.Done, report.Dropped},
		"groups":   counts,
		"trashed":  trashed.StatusCode(),
		"restored": []any{restored.Title, null(restored.DeletedAt)},
		"deleted":  deleted.StatusCode(),
	}
	fmt.Print(string(must(json.Marshal(seen))))
}
