// A smoke with the AWS SDK for Go v2: a league's games in a table with an index, by batch, pages, transaction and waiters.
//
// What it heard is printed as one line of JSON, which tests/clients/test_go.py holds against what must be heard. With a second argument,
// it does what capacity.go has instead (test_capacity.py), or vectors.go (test_vectors.py).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

const table = "games"

// Game is one item.
type Game struct {
	League string            `dynamodbav:"league"`
	Number int               `dynamodbav:"number"`
	Winner string            `dynamodbav:"winner,omitempty"`
	Goals  map[string]int    `dynamodbav:"goals"`
	Tags   []string          `dynamodbav:"tags,stringset,omitempty"`
	Played time.Time         `dynamodbav:"played,unixtime"`
	Notes  map[string]string `dynamodbav:"notes"`
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func key(league string, number int) map[string]types.AttributeValue {
	return must(attributevalue.MarshalMap(map[string]any{"league": league, "number": number}))
}

func open(ctx context.Context, client *dynamodb.Client) map[string]any {
	part := func(name string, kind types.KeyType) types.KeySchemaElement {
		return types.KeySchemaElement{AttributeName: aws.String(name), KeyType: kind}
	}
	typed := func(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: kind}
	}
	must(client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:   aws.String(table),
		BillingMode: types.BillingModePayPerRequest,
		KeySchema:   []types.KeySchemaElement{part("league", types.KeyTypeHash), part("number", types.KeyTypeRange)},
		AttributeDefinitions: []types.AttributeDefinition{
			typed("league", types.ScalarAttributeTypeS), typed("number", types.ScalarAttributeTypeN),
			typed("winner", types.ScalarAttributeTypeS),
		},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName:  aws.String("by-winner"),
			KeySchema:  []types.KeySchemaElement{part("winner", types.KeyTypeHash), part("number", types.KeyTypeRange)},
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
		}},
	}))
	described := &dynamodb.DescribeTableInput{TableName: aws.String(table)}
	waiter := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay = time.Second })
	found := must(waiter.WaitForOutput(ctx, described, time.Minute)).Table
	return map[string]any{"status": found.TableStatus, "index": found.GlobalSecondaryIndexes[0].IndexStatus}
}

// load writes 40 games, 25 a batch, and returns how many of them the next reads see.
func load(ctx context.Context, client *dynamodb.Client) int {
	var puts []types.WriteRequest
	for number := range 40 {
		game := Game{League: "north", Number: number, Goals: map[string]int{"home": number % 3}, Played: time.Unix(1_800_000_000, 0)}
		if number%2 == 1 {
			game.Winner, game.Tags = "Rovers", []string{"derby", "cup"}
		}
		puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: must(attributevalue.MarshalMap(game))}})
	}
	for start := 0; start < len(puts); start += 25 {
		left := map[string][]types.WriteRequest{table: puts[start:min(start+25, len(puts))]}
		for len(left) > 0 {
			left = must(client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: left})).UnprocessedItems
		}
	}
	keys := []map[string]types.AttributeValue{}
	for number := range 50 {
		keys = append(keys, key("north", number))
	}
	asked := map[string]types.KeysAndAttributes{table: {Keys: keys, ConsistentRead: aws.Bool(true)}}
	return len(must(client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: asked})).Responses[table])
}

// won is the numbers of a team's later games at home with goals, newest first, in pages of 8 that were examined.
func won(ctx context.Context, client *dynamodb.Client) [][]int {
	wanted := expression.Key("winner").Equal(expression.Value("Rovers")).
		And(expression.Key("number").GreaterThan(expression.Value(20)))
	built := must(expression.NewBuilder().WithKeyCondition(wanted).
		WithFilter(expression.Name("goals.home").GreaterThan(expression.Value(0))).Build())
	pages := dynamodb.NewQueryPaginator(client, &dynamodb.QueryInput{
		TableName: aws.String(table), IndexName: aws.String("by-winner"),
		KeyConditionExpression: built.KeyCondition(), FilterExpression: built.Filter(),
		ExpressionAttributeNames: built.Names(), ExpressionAttributeValues: built.Values(),
		ScanIndexForward: aws.Bool(false), Limit: aws.Int32(8),
	})
	found := [][]int{}
	for pages.HasMorePages() {
		var games []Game
		if err := attributevalue.UnmarshalListOfMaps(must(pages.NextPage(ctx)).Items, &games); err != nil {
			panic(err)
		}
		numbers := []int{}
		for _, game := range games {
			numbers = append(numbers, game.Number)
		}
		found = append(found, numbers)
	}
	return found
}

// award gives both games to a team, or neither: what it hears is each action's reason, and the game in the way.
func award(ctx context.Context, client *dynamodb.Client, team string, numbers ...int) map[string]any {
	var actions []types.TransactWriteItem
	for _, number := range numbers {
		built := must(expression.NewBuilder().
			WithUpdate(expression.Set(expression.Name("winner"), expression.Value(team))).
			WithCondition(expression.Name("winner").AttributeNotExists()).Build())
		actions = append(actions, types.TransactWriteItem{Update: &types.Update{
			TableName: aws.String(table), Key: key("north", number),
			UpdateExpression: built.Update(), ConditionExpression: built.Condition(),
			ExpressionAttributeNames: built.Names(), ExpressionAttributeValues: built.Values(),
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}})
	}
	_, err := client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: actions})
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) {
		return map[string]any{"awarded": must(numbers, err)}
	}
	reasons, held := []string{}, []string{}
	for _, reason := range cancelled.CancellationReasons {
		reasons = append(reasons, *reason.Code)
		var game Game
		if err := attributevalue.UnmarshalMap(reason.Item, &game); err == nil && game.Winner != "" {
			held = append(held, game.Winner)
		}
	}
	return map[string]any{"reasons": reasons, "held": held}
}

func mistakes(ctx context.Context, client *dynamodb.Client) []string {
	_, unknown := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String("gomes")})
	_, empty := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(table), Item: key("", 1)})
	heard := []string{}
	for _, err := range []error{unknown, empty} {
		var refused smithy.APIError
		if errors.As(err, &refused) {
			heard = append(heard, refused.ErrorCode()+": "+refused.ErrorMessage())
		}
	}
	return heard
}

func main() {
	ctx := context.Background()
	if len(os.Args) > 2 {
		other := capacity
		if os.Args[2] == "vectors" {
			other = vectors
		}
		must(os.Stdout.Write(must(json.Marshal(other(ctx, os.Args[1])))))
		return
	}
	client := dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(os.Args[1]),
		Region:       "eu-west-1",
		Credentials:  credentials.NewStaticCredentialsProvider("key", "secret", ""),
	})
	heard := map[string]any{
		"open":      open(ctx, client),
		"loaded":    load(ctx, client),
		"won":       won(ctx, client),
		"awarded":   award(ctx, client, "Wanderers", 2, 4),
		"cancelled": award(ctx, client, "Albion", 6, 4),
		"mistakes":  mistakes(ctx, client),
	}
	var game Game
	read := must(client.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(table), Key: key("north", 4)}))
	if err := attributevalue.UnmarshalMap(read.Item, &game); err != nil {
		panic(err)
	}
	game.Played = game.Played.UTC()
	heard["game"] = game
	must(client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String(table)}))
	must(os.Stdout.Write(must(json.Marshal(heard))))
}
