// Writes and reads things by nothing but the types and functions that oapi-codegen has made.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/oapi-codegen/nullable"
	openapi_types "github.com/oapi-codegen/runtime/types"
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

func names(things []Thing) []string {
	found := []string{}
	for _, thing := range things {
		found = append(found, thing.Name)
	}
	return found
}

func list(client *ClientWithResponses, params ListThingsParams) ThingList {
	answer := must(client.ListThingsWithResponse(ctx, &params))
	return valueOf(answer.JSON200, answer.Body)
}

func page(client *ClientWithResponses) any {
	found := list(client, ListThingsParams{Page: ptr(int32(2)), PerPage: ptr(int32(2)), Sort: ptr("name")})
	return map[string]any{"names": names(found.Data), "total": found.Meta.Total, "page": found.Meta.Page}
}

func cursor(client *ClientWithResponses) any {
	pages := [][]string{}
	for next := nullable.NewNullableWithValue(""); !next.IsNull(); {
		found := list(client, ListThingsParams{Cursor: ptr(must(next.Get())), PerPage: ptr(int32(2))})
		pages = append(pages, names(found.Data))
		next = found.Meta.NextCursor
	}
	return pages
}

func create(client *ClientWithResponses, body ThingCreate) Thing {
	answer := must(client.CreateThingWithResponse(ctx, nil, body))
	return valueOf(answer.JSON201, answer.Body)
}

func one(client *ClientWithResponses) Thing {
	either := ThingCreate_Either{}
	if err := either.FromThingCreateEither1(7); err != nil {
		panic(err)
	}
	body := ThingCreate{
		Name:    "one",
		Large:   nullable.NewNullableWithValue(int64(1<<53 - 1)),
		Ratio:   nullable.NewNullableWithValue(0.5),
		State:   ptr(ThingState("in-between")),
		Payload: map[string]any{"a": []any{1, nil}},
		Tags:    &[]string{"x"},
		Either:  nullable.NewNullableWithValue(either),
		Level:   nullable.NewNullableWithValue(ThingLevel("low")),
		Day:     nullable.NewNullableWithValue(openapi_types.Date{Time: time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)}),
		At:      nullable.NewNullableWithValue(time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)),
		Mail:    nullable.NewNullableWithValue(openapi_types.Email("ada@example.com")),
		Link:    nullable.NewNullableWithValue("https://example.com/"),
		OwnerId: nullable.NewNullableWithValue(int64(1)),
	}
	if err := json.Unmarshal([]byte(`{"width": 3, "unit": "mm"}`), &body.Shape); err != nil {
		panic(err)
	}
	return create(client, body)
}

func main() {
	token := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("TOKEN"))
		return nil
	}
	client := must(NewClientWithResponses(os.Getenv("SERVICE"), WithRequestEditorFn(token)))
	one := one(client)
	two := create(client, ThingCreate{Name: "two", ParentId: nullable.NewNullableWithValue(one.Id)})
	three := create(client, ThingCreate{Name: "three"})
	read := must(client.GetThingWithResponse(ctx, two.Id, &GetThingParams{Include: ptr("parent.owner")}))
	parent := must(valueOf(read.JSON200, read.Body).Parent.Get())
	change := ThingUpdate{
		Body:    nullable.NewNullableWithValue("changed"),
		Mood:    nullable.NewNullableWithValue(ThingMood("good")),
		Mail:    nullable.NewNullNullable[openapi_types.Email](),
		Payload: map[string]any{"a": nil, "b": 1},
		Shape:   nullable.NewNullableWithValue(map[string]any{"unit": nil}),
	}
	patch := must(client.UpdateThingWithResponse(ctx, one.Id, nil, change))
	updated := valueOf(patch.JSON200, patch.Body)
	pages, cursors := page(client), cursor(client)
	filtered := list(client, ListThingsParams{Filter: &ThingFilter{StateIn: ptr("in-between,done")}})
	put := must(client.ReplaceThingWithResponse(ctx, one.Id, nil, ThingReplace{Name: "replaced"}))
	replaced := valueOf(put.JSON200, put.Body)
	taken := must(client.CreateThingWithResponse(ctx, nil, ThingCreate{Name: "two"}))
	conflict := valueOf(taken.JSONDefault, taken.Body)
	deleted := must(client.DeleteThingWithResponse(ctx, three.Id, nil))
	missing := must(client.GetThingWithResponse(ctx, three.Id, nil))
	result := map[string]any{
		"created": []any{
			null(one.Large), null(one.Ratio), one.State, null(one.Mood), one.Payload, one.Tags, null(one.Shape),
			must(must(one.Either.Get()).AsThingEither1()), null(one.Level),
		},
		"dates":    []any{null(one.Day), must(one.At.Get()).Format("2006-01-02T15:04:05.000Z"), null(one.Link)},
		"defaults": []any{three.State, three.Active, three.Payload, three.Tags, null(three.Shape), null(three.OwnerId)},
		"included": []any{parent.Name, must(parent.Owner.Get()).Name},
		"updated":  []any{null(updated.Body), null(updated.Mood), null(updated.Mail), updated.Payload, null(updated.Shape)},
		"page":     pages,
		"cursor":   cursors,
		"filtered": names(filtered.Data),
		"replaced": []any{replaced.Name, replaced.State, null(replaced.Mood)},
		"conflict": []any{taken.StatusCode(), conflict.Error.Code, (*conflict.Error.Details)[0].Field},
		"deleted":  deleted.StatusCode(),
		"missing":  []any{missing.StatusCode(), valueOf(missing.JSONDefault, missing.Body).Error.Code},
	}
	fmt.Print(string(must(json.Marshal(result))))
}
