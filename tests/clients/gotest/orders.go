// Package orders is an application that is tested: the orders of customers.
package orders

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const table = "Orders"

// Order is an item of the table Orders.
type Order struct {
	Customer string `dynamodbav:"customer"`
	Number   int    `dynamodbav:"number"`
	Total    int    `dynamodbav:"total"`
}

// CreateTable creates the table Orders.
func CreateTable(ctx context.Context, client *dynamodb.Client) error {
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: aws.String(table),
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("customer"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("number"), KeyType: types.KeyTypeRange},
		},
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("customer"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("number"), AttributeType: types.ScalarAttributeTypeN},
		},
		BillingMode: types.BillingModePayPerRequest,
	})
	return err
}

// Place stores a new order.
func Place(ctx context.Context, client *dynamodb.Client, order Order) error {
	item, err := attributevalue.MarshalMap(order)
	if err != nil {
		return err
	}
	_, err = client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:           aws.String(table),
		Item:                item,
		ConditionExpression: aws.String("attribute_not_exists(customer)"),
	})
	return err
}

// All returns the orders of all customers.
func All(ctx context.Context, client *dynamodb.Client) ([]Order, error) {
	page, err := client.Scan(ctx, &dynamodb.ScanInput{TableName: aws.String(table)})
	if err != nil {
		return nil, err
	}
	var orders []Order
	err = attributevalue.UnmarshalListOfMaps(page.Items, &orders)
	return orders, err
}
