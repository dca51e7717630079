// A post, by nothing but the functions and types that openapi-generator has made.
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
	posts := client.NewAPIClient(configuration).PostsAPI
	created, _, err := posts.CreatePost(ctx).PostCreate(*client.NewPostCreate("One")).Execute()
	must(created, err)
	change := client.NewPostUpdate()
	change.SetBody("changed")
	updated, _, err := posts.UpdatePost(ctx, created.Id).PostUpdate(*change).Execute()
	must(updated, err)
	read, _, err := posts.GetPost(ctx, created.Id).Execute()
	must(read, err)
	listed, _, err := posts.ListPosts(ctx).Sort("-id").PerPage(1).Execute()
	must(listed, err)
	must(posts.DeletePost(ctx, created.Id).Execute())
	_, missing, _ := posts.GetPost(ctx, created.Id).Execute()
	titles := []string{}
	for _, post := range listed.Data {
		titles = append(titles, post.Title)
	}
	fmt.Print(string(must(json.Marshal(map[string]any{
		"created": []any{created.Title, created.Body.Get()},
		"updated": updated.Body.Get(),
		"read":    []any{read.Title, read.CreatedAt.Equal(created.CreatedAt)},
		"listed":  []any{titles, listed.Meta.Total},
		"missing": missing.StatusCode,
	}))))
}
