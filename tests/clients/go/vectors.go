package main

import (
	"context"
	"errors"
	"sort"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

const documents = "Documents"

func text(value string) types.AttributeValue {
	return &types.AttributeValueMemberS{Value: value}
}

func numbers(elements ...float64) []types.AttributeValue {
	found := []types.AttributeValue{}
	for _, element := range elements {
		found = append(found, &types.AttributeValueMemberN{Value: strconv.FormatFloat(element, 'f', -1, 64)})
	}
	return found
}

// fillDocuments makes a table with a vector index, and puts three documents.
func fillDocuments(ctx context.Context, client *dynamodb.Client) {
	must(client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:   aws.String(documents),
		BillingMode: types.BillingModePayPerRequest,
		KeySchema:   []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("shelf"), AttributeType: types.ScalarAttributeTypeS},
		},
		VectorIndexes: []types.VectorIndex{{
			IndexName:        aws.String("by-meaning"),
			VectorAttribute:  &types.VectorAttributeDefinition{AttributeName: aws.String("embedding")},
			Dimensions:       aws.Int64(2),
			DistanceFunction: types.VectorDistanceFunctionEuclidean,
			SearchSchema: []types.SearchSchemaElement{
				{AttributeName: aws.String("shelf"), SearchSchemaElementType: types.SearchSchemaElementTypeHash},
			},
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}},
	}))
	waiter := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay = time.Second })
	must(waiter.WaitForOutput(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(documents)}, time.Minute))
	put := func(id, shelf string, vector ...float64) {
		must(client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(documents), Item: map[string]types.AttributeValue{
			"id": text(id), "shelf": text(shelf), "text": text("x"),
			"embedding": &types.AttributeValueMemberL{Value: numbers(vector...)},
		}}))
	}
	put("near", "a", 1, 0.5)
	put("far", "a", 4, 4.5)
	put("elsewhere", "b", 1, 0.5)
}

// vectors searches documents, with a vector that fits and with one that does not.
func vectors(ctx context.Context, endpoint string) map[string]any {
	client := dynamodb.NewFromConfig(aws.Config{
		Region: "eu-west-1", BaseEndpoint: aws.String(endpoint),
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
	})
	fillDocuments(ctx, client)
	search := func(vector ...float64) (*dynamodb.SearchVectorsOutput, error) {
		return client.SearchVectors(ctx, &dynamodb.SearchVectorsInput{
			TableName: aws.String(documents), IndexName: aws.String("by-meaning"),
			SearchVector: numbers(vector...), TopK: aws.Int32(5),
			SearchConditionExpression: aws.String("shelf = :shelf"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":shelf": text("a")},
			ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal,
		})
	}
	reply := must(search(1, 0.5))
	found := [][]any{}
	for _, one := range reply.SearchResults {
		names := []string{}
		for name := range one.Item {
			names = append(names, name)
		}
		sort.Strings(names)
		found = append(found, []any{one.Item["id"].(*types.AttributeValueMemberS).Value, names, one.Score})
	}
	_, err := search(1)
	told := []string{}
	var known smithy.APIError
	if errors.As(err, &known) {
		told = []string{known.ErrorCode(), known.ErrorMessage()}
	}
	return map[string]any{"found": found, "bytes": *reply.ConsumedCapacity.VectorSearchRequestBytes, "refused": told}
}
