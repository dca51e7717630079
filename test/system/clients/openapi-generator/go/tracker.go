// A project and its task, by nothing but the functions and types that openapi-generator has made.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	client "github.com/GIT_USER_ID/GIT_REPO_ID"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	ctx := context.WithValue(context.Background(), client.ContextAccessToken, os.Getenv("TOKEN"))
	configuration := client.NewConfiguration()
	configuration.Servers[0].URL = os.Getenv("SERVICE")
	api := client.NewAPIClient(configuration)
	engines := client.NewFoundOrganizationInput("Engines")
	organization, _, err := api.OrganizationsAPI.FoundOrganization(ctx).FoundOrganizationInput(*engines).Execute()
	must(organization, err)
	loom := client.NewProjectCreate(organization.Id, "Loom")
	project, _, err := api.ProjectsAPI.CreateProject(ctx).ProjectCreate(*loom).Execute()
	must(project, err)
	weave := client.NewTaskCreate(project.Id, "Weave")
	weave.SetStatus(client.TaskStatusDoing)
	created, _, err := api.TasksAPI.CreateTask(ctx).TaskCreate(*weave).Execute()
	must(created, err)
	change := client.NewTaskUpdate()
	change.SetStatus(client.TaskStatusDone)
	change.SetDetailsNil()
	updated, _, err := api.TasksAPI.UpdateTask(ctx, created.Id).TaskUpdate(*change).Execute()
	must(updated, err)
	listed, _, err := api.TasksAPI.ListTasksOfProject(ctx, project.Id).Execute()
	must(listed, err)
	must(api.TasksAPI.TrashTask(ctx, created.Id).Execute())
	trashed, _, err := api.TasksAPI.GetTask(ctx, created.Id).Execute()
	must(trashed, err)
	titles := []string{}
	for _, task := range listed.Data {
		titles = append(titles, task.Title)
	}
	fmt.Print(string(must(json.Marshal(map[string]any{
		"created": []any{created.Title, created.Status, created.Points},
		"updated": []any{updated.Status, updated.Details.Get()},
		"listed":  titles,
		"trashed": trashed.DeletedAt.Get() != nil,
	}))))
}
