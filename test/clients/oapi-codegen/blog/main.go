// Posts, by nothing but the types and functions that oapi-codegen has made.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	"github.com/oapi-codegen/nullable"
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

func titles(posts []Post) []string {
	found := []string{}
	for _, post := range posts {
		found = append(found, post.Title)
	}
	return found
}

func list(client *ClientWithResponses, params ListPostsParams) PostList {
	answer := must(client.ListPostsWithResponse(ctx, &params))
	return valueOf(answer.JSON200, answer.Body)
}

func main() {
	token := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("TOKEN"))
		return nil
	}
	client := must(NewClientWithResponses(os.Getenv("SERVICE"), WithRequestEditorFn(token)))
	created := must(client.CreatePostWithResponse(ctx, nil, PostCreate{Title: "Hello"}))
	post := valueOf(created.JSON201, created.Body)
	read := must(client.GetPostWithResponse(ctx, post.Id, &GetPostParams{Include: ptr("author")}))
	author := must(valueOf(read.JSON200, read.Body).Author.Get())
	listed := list(client, ListPostsParams{
		Filter: &PostFilter{TitleContains: ptr("ell"), CreatedAtGte: &post.CreatedAt},
	})
	equal := list(client, ListPostsParams{Filter: &PostFilter{Title: ptr("Hello")}})
	related := list(client, ListPostsParams{MoreFilters: &Filters{"author.role": "admin", "not[title]": "Other"}})
	recent := Filters{"id[gte]": "1", "author.role[eq]": "admin"}
	counted := must(client.AggregatePostsWithResponse(ctx, &AggregatePostsParams{Filter: &recent}))
	change := PostUpdate{Title: ptr("Hello again"), Body: nullable.NewNullableWithValue("Much")}
	patch := must(client.UpdatePostWithResponse(ctx, post.Id, nil, change))
	updated := valueOf(patch.JSON200, patch.Body)
	put := must(client.ReplacePostWithResponse(ctx, post.Id, nil, PostReplace{Title: "New", AuthorId: &post.AuthorId}))
	replaced := valueOf(put.JSON200, put.Body)
	below := must(client.ListPostsOfUserWithResponse(ctx, post.AuthorId, nil))
	deleted := must(client.DeletePostWithResponse(ctx, post.Id, nil))
	gone := must(client.GetPostWithResponse(ctx, post.Id, nil))
	seen := map[string]any{
		"created":  []any{post.Title, null(post.Body), author.Name},
		"listed":   []any{titles(listed.Data), listed.Meta.Total},
		"equal":    titles(equal.Data),
		"related":  titles(related.Data),
		"counted":  valueOf(counted.JSON200, counted.Body).Data[0].Count,
		"updated":  []any{updated.Title, null(updated.Body)},
		"replaced": []any{replaced.Title, null(replaced.Body)},
		"ofAuthor": titles(valueOf(below.JSON200, below.Body).Data),
		"deleted":  deleted.StatusCode(),
		"gone":     []any{gone.StatusCode(), valueOf(gone.JSONDefault, gone.Body).Error.Code},
	}
	fmt.Print(string(must(json.Marshal(seen))))
}
