// A shop through DAX with aws-dax-go-v2, and directly with the AWS SDK v2. Arguments: the endpoint of DynamoDB, that of DAX, and
// what to do in place of the shop: failover, or the file of the requests to send.
//
// The same requests go through both, each on a table of its own; what each heard is printed as JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-dax-go-v2/dax"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

type option = func(*dynamodb.Options)

// data has the methods that both clients have.
type data interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...option) (*dynamodb.PutItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...option) (*dynamodb.GetItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...option) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...option) (*dynamodb.DeleteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...option) (*dynamodb.QueryOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...option) (*dynamodb.ScanOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...option) (*dynamodb.BatchGetItemOutput, error)
	BatchWriteItem(context.Context, *dynamodb.BatchWriteItemInput, ...option) (*dynamodb.BatchWriteItemOutput, error)
	TransactGetItems(context.Context, *dynamodb.TransactGetItemsInput, ...option) (*dynamodb.TransactGetItemsOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...option) (*dynamodb.TransactWriteItemsOutput, error)
}

type item = map[string]types.AttributeValue

func s(value string) types.AttributeValue { return &types.AttributeValueMemberS{Value: value} }
func n(value string) types.AttributeValue { return &types.AttributeValueMemberN{Value: value} }

func product(number int, more item) item {
	made := item{
		"pk": s(fmt.Sprintf("product-%d", number%3)), "sk": n(fmt.Sprint(number)), "kind": s([]string{"pen", "lamp"}[number%2]),
		"cents": n(fmt.Sprintf("%d.25", number)), "tags": &types.AttributeValueMemberSS{Value: []string{"desk", "äther"}},
		"sizes": &types.AttributeValueMemberM{Value: item{"height": n("41.25"), "all": &types.AttributeValueMemberL{
			Value: []types.AttributeValue{n("1"), &types.AttributeValueMemberBOOL{Value: true}, &types.AttributeValueMemberNULL{Value: true}}}}},
		"picture": &types.AttributeValueMemberB{Value: []byte{0, 255}}, "codes": &types.AttributeValueMemberNS{Value: []string{"-1.5", "4", "30"}},
	}
	for name, value := range more {
		made[name] = value
	}
	return made
}

type step = func() (any, error)

func as[T any](value T, err error) (any, error) { return value, err }

func steps(ctx context.Context, client data, table string) []step {
	name := aws.String(table)
	known := func() item { return item{"pk": s("product-1"), "sk": n("1")} }
	missing := func() item { return item{"pk": s("nobody"), "sk": n("-7.5")} }
	get := func(input dynamodb.GetItemInput) step {
		if input.TableName == nil {
			input.TableName = name
		}
		return func() (any, error) { return as(client.GetItem(ctx, &input)) }
	}
	put := func(input dynamodb.PutItemInput) step {
		input.TableName = name
		return func() (any, error) { return as(client.PutItem(ctx, &input)) }
	}
	update := func(input dynamodb.UpdateItemInput) step {
		input.TableName, input.Key = name, known()
		return func() (any, error) { return as(client.UpdateItem(ctx, &input)) }
	}
	query := func(input dynamodb.QueryInput) step {
		input.TableName = name
		return func() (any, error) {
			var pages []any
			for {
				page, err := client.Query(ctx, &input)
				if err != nil {
					return nil, err
				}
				pages = append(pages, page)
				if page.LastEvaluatedKey == nil {
					return pages, nil
				}
				input.ExclusiveStartKey = page.LastEvaluatedKey
			}
		}
	}
	var made []step
	for number := range 8 {
		made = append(made, put(dynamodb.PutItemInput{Item: product(number, nil)}))
	}
	return append(made,
		get(dynamodb.GetItemInput{Key: known()}),
		get(dynamodb.GetItemInput{Key: missing()}),
		get(dynamodb.GetItemInput{Key: known(), ConsistentRead: aws.Bool(true), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal}),
		get(dynamodb.GetItemInput{Key: known(), ProjectionExpression: aws.String("sizes.#a[1], cents"),
			ExpressionAttributeNames: map[string]string{"#a": "all"}}),
		put(dynamodb.PutItemInput{Item: product(1, nil), ConditionExpression: aws.String("attribute_not_exists(pk)")}),
		put(dynamodb.PutItemInput{Item: product(1, item{"stock": n("5")}), ReturnValues: types.ReturnValueAllOld}),
		update(dynamodb.UpdateItemInput{
			UpdateExpression:          aws.String("SET stock = stock - :one, seen = if_not_exists(seen, :zero) + :one REMOVE sizes.height"),
			ConditionExpression:       aws.String("stock >= :one AND (begins_with(kind, :l) OR size(tags) > :one)"),
			ExpressionAttributeValues: item{":one": n("1"), ":zero": n("0"), ":l": s("la")}, ReturnValues: types.ReturnValueAllNew}),
		update(dynamodb.UpdateItemInput{UpdateExpression: aws.String("SET stock = :none"),
			ExpressionAttributeValues: item{":none": n("0")}, ReturnValues: types.ReturnValueUpdatedOld}),
		update(dynamodb.UpdateItemInput{UpdateExpression: aws.String("SET absent = gone + :one"), ExpressionAttributeValues: item{":one": n("1")}}),
		get(dynamodb.GetItemInput{Key: known()}),
		query(dynamodb.QueryInput{KeyConditionExpression: aws.String("pk = :p AND sk BETWEEN :a AND :b"),
			FilterExpression:          aws.String("contains(tags, :t) AND cents IN (:x, :y)"),
			ExpressionAttributeValues: item{":p": s("product-1"), ":a": n("1"), ":b": n("7"), ":t": s("desk"), ":x": n("4.25"), ":y": n("7.25")}}),
		query(dynamodb.QueryInput{KeyConditionExpression: aws.String("pk = :p"), ExpressionAttributeValues: item{":p": s("product-0")},
			Limit: aws.Int32(2), ScanIndexForward: aws.Bool(false)}),
		query(dynamodb.QueryInput{IndexName: aws.String("kinds"), KeyConditionExpression: aws.String("kind = :k"),
			ExpressionAttributeValues: item{":k": s("pen")}, Limit: aws.Int32(3)}),
		query(dynamodb.QueryInput{KeyConditionExpression: aws.String("pk = :p"), ExpressionAttributeValues: item{":p": s("product-2")},
			ProjectionExpression: aws.String("sk, sizes.height")}),
		query(dynamodb.QueryInput{KeyConditionExpression: aws.String("pk = :p"), ExpressionAttributeValues: item{":p": s("product-2")},
			Select: types.SelectCount}),
		func() (any, error) { return as(client.Scan(ctx, &dynamodb.ScanInput{TableName: name})) },
		func() (any, error) {
			return as(client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: {
				{PutRequest: &types.PutRequest{Item: product(20, nil)}},
				{DeleteRequest: &types.DeleteRequest{Key: item{"pk": s("product-0"), "sk": n("0")}}}}}}))
		},
		func() (any, error) {
			return as(client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
				table: {Keys: []item{known(), missing(), {"pk": s("product-2"), "sk": n("20")}}}}}))
		},
		func() (any, error) {
			return as(client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
				{Put: &types.Put{TableName: name, Item: product(30, nil), ConditionExpression: aws.String("attribute_not_exists(pk)")}},
				{Update: &types.Update{TableName: name, Key: known(), UpdateExpression: aws.String("SET sold = :s"),
					ExpressionAttributeValues: item{":s": n("1")}}},
				{ConditionCheck: &types.ConditionCheck{TableName: name, Key: item{"pk": s("product-2"), "sk": n("2")},
					ConditionExpression: aws.String("attribute_exists(pk)")}}}}))
		},
		func() (any, error) {
			return as(client.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
				{Get: &types.Get{TableName: name, Key: known()}}, {Get: &types.Get{TableName: name, Key: missing()}}}}))
		},
		func() (any, error) {
			return as(client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
				{Put: &types.Put{TableName: name, Item: product(30, nil), ConditionExpression: aws.String("attribute_not_exists(pk)")}},
				{Delete: &types.Delete{TableName: name, Key: missing()}}}}))
		},
		func() (any, error) {
			return as(client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: name, Key: known(), ReturnValues: types.ReturnValueAllOld}))
		},
		get(dynamodb.GetItemInput{Key: known()}),
		get(dynamodb.GetItemInput{TableName: aws.String("no-such-table"), Key: known()}),
		update(dynamodb.UpdateItemInput{UpdateExpression: aws.String("SET pk = :p"), ExpressionAttributeValues: item{":p": s("x")}}),
	)
}

// heard is what each step gave, or its error.
func heard(made []step) []any {
	var found []any
	for _, one := range made {
		result, err := one()
		var api smithy.APIError
		switch {
		case errors.As(err, &api):
			found = append(found, []string{api.ErrorCode(), api.ErrorMessage()})
		case err != nil:
			found = append(found, []string{"", err.Error()})
		default:
			found = append(found, result)
		}
	}
	return found
}

func main() {
	endpoint, daxEndpoint := os.Args[1], os.Args[2]
	ctx := context.Background()
	config := aws.Config{Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", "")}
	direct := dynamodb.NewFromConfig(config, func(o *dynamodb.Options) {
		o.BaseEndpoint = aws.String(endpoint)
		o.Retryer = retry.NewStandard(func(r *retry.StandardOptions) {
			r.MaxAttempts, r.MaxBackoff, r.RateLimiter = 10, time.Millisecond, ratelimit.None
			// The SDK closes a connection now and then before it has read a long reply, whatever server it is from.
			r.Retryables = append(r.Retryables, retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
				return aws.BoolTernary(strings.Contains(err.Error(), "use of closed network connection"))
			}))
		})
	})
	through, err := dax.New(dax.NewConfig(config, daxEndpoint))
	if err != nil {
		panic(err)
	}
	defer through.Close()
	if len(os.Args) > 3 && os.Args[3] == "failover" {
		readAsAsked(through)
		return
	}
	if len(os.Args) > 3 {
		tell(ctx, os.Args[3], through, direct)
		return
	}
	part := func(name string, kind types.KeyType) types.KeySchemaElement {
		return types.KeySchemaElement{AttributeName: aws.String(name), KeyType: kind}
	}
	typed := func(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: kind}
	}
	tables := []string{"through-dax", "directly"}
	for _, table := range tables {
		_, err := direct.CreateTable(ctx, &dynamodb.CreateTableInput{
			TableName: aws.String(table), BillingMode: types.BillingModePayPerRequest,
			KeySchema:            []types.KeySchemaElement{part("pk", types.KeyTypeHash), part("sk", types.KeyTypeRange)},
			AttributeDefinitions: []types.AttributeDefinition{typed("pk", "S"), typed("sk", "N"), typed("kind", "S")},
			GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{IndexName: aws.String("kinds"),
				KeySchema:  []types.KeySchemaElement{part("kind", types.KeyTypeHash), part("sk", types.KeyTypeRange)},
				Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll}}},
		})
		if err != nil {
			panic(err)
		}
	}
	told, err := json.Marshal(map[string]any{
		"through": heard(steps(ctx, through, tables[0])), "directly": heard(steps(ctx, direct, tables[1])),
	})
	if err != nil {
		panic(err)
	}
	text := strings.NewReplacer(tables[0], "TABLE", tables[1]+`":`, `TABLE":`, `"`+tables[1]+`"`, `"TABLE"`).Replace(string(told))
	fmt.Println(strings.Replace(text, `"TABLE":[`, `"directly":[`, 1))
}
