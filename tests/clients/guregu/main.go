// A diary with guregu/dynamo v2, a library that sends KeyConditions with every Query and filters by expression.
//
// What it heard is printed as one line of JSON, which tests/clients/test_go.py holds against what must be heard.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/guregu/dynamo/v2"
)

// Entry is one item.
type Entry struct {
	Author string   `dynamo:"author,hash" index:"by-mood,range"`
	Day    int      `dynamo:"day,range"`
	Mood   string   `dynamo:"mood" index:"by-mood,hash"`
	Words  int      `dynamo:"words"`
	Tags   []string `dynamo:"tags,set,omitempty"`
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func days(entries []Entry) []int {
	found := []int{}
	for _, entry := range entries {
		found = append(found, entry.Day)
	}
	return found
}

// load writes ten days of each author: every third one is merry, and has as many words as its number.
func load(ctx context.Context, table dynamo.Table) int {
	var entries []any
	for _, author := range []string{"ann", "bob"} {
		for day := range 10 {
			entry := Entry{Author: author, Day: day, Mood: "calm", Words: day}
			if day%3 == 0 {
				entry.Mood, entry.Tags = "merry", []string{"sun"}
			}
			entries = append(entries, entry)
		}
	}
	return must(table.Batch("author", "day").Write().Put(entries...).Run(ctx))
}

// read asks by key, by range, with filters and projections, and in pages.
func read(ctx context.Context, table dynamo.Table) map[string]any {
	heard := map[string]any{}
	var one Entry
	check(table.Get("author", "ann").Range("day", dynamo.Equal, 3).One(ctx, &one))
	heard["one"] = one
	all := func(query *dynamo.Query) []Entry {
		var found []Entry
		check(query.All(ctx, &found))
		return found
	}
	heard["filtered"] = days(all(table.Get("author", "ann").Filter("'words' > ? AND mood = ?", 2, "calm")))
	heard["ranged"] = days(all(table.Get("author", "ann").Range("day", dynamo.Between, 2, 7).
		Filter("contains(tags, ?)", "sun").Order(dynamo.Descending)))
	heard["projected"] = all(table.Get("author", "bob").Range("day", dynamo.LessOrEqual, 1).Project("day", "words"))
	heard["both"] = all(table.Get("author", "bob").Filter("'words' >= ?", 9).Project("day"))
	heard["count"] = must(table.Get("author", "ann").Filter("mood <> ?", "merry").Count(ctx))
	heard["index"] = days(all(table.Get("mood", "merry").Index("by-mood").
		Range("author", dynamo.BeginsWith, "a").Filter("'words' < ?", 9)))
	pages := [][]int{}
	for query := table.Get("author", "ann").Filter("'words' > ?", 1); ; {
		var page []Entry
		next := must(query.SearchLimit(4).AllWithLastEvaluatedKey(ctx, &page))
		pages = append(pages, days(page))
		if next == nil {
			break
		}
		query = table.Get("author", "ann").Filter("'words' > ?", 1).StartFrom(next)
	}
	heard["pages"] = pages
	return heard
}

// change updates under a condition: once it holds, once it does not.
func change(ctx context.Context, table dynamo.Table) map[string]any {
	var changed Entry
	check(table.Update("author", "ann").Range("day", 3).Add("words", 5).If("mood = ?", "merry").Value(ctx, &changed))
	err := table.Delete("author", "ann").Range("day", 3).If("words = ?", 3).Run(ctx)
	missing := table.Get("author", "ann").Range("day", dynamo.Equal, 99).One(ctx, &changed)
	return map[string]any{
		"words": changed.Words, "refused": dynamo.IsCondCheckFailed(err), "missing": errors.Is(missing, dynamo.ErrNotFound),
	}
}

func main() {
	ctx := context.Background()
	db := dynamo.New(aws.Config{
		BaseEndpoint: aws.String(os.Args[1]),
		Region:       "eu-west-1",
		Credentials:  credentials.NewStaticCredentialsProvider("key", "secret", ""),
	})
	check(db.CreateTable("diary", Entry{}).OnDemand(true).Wait(ctx))
	table := db.Table("diary")
	heard := map[string]any{"loaded": load(ctx, table), "read": read(ctx, table), "changed": change(ctx, table)}
	check(table.DeleteTable().Run(ctx))
	must(os.Stdout.Write(must(json.Marshal(heard))))
}
