package main

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	scaling "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	metrics "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// refused is the name of an error, which may differ from its code in the Query form.
func refused(err error) []string {
	var known smithy.APIError
	if errors.As(err, &known) {
		return []string{known.ErrorCode()}
	}
	return []string{}
}

// measured puts data of its own, and reads it back.
func measured(ctx context.Context, client *cloudwatch.Client) map[string]any {
	now := time.Now()
	dimensions := []metrics.Dimension{{Name: aws.String("Shop"), Value: aws.String("Ulm & Neu-Ulm")}}
	must(client.PutMetricData(ctx, &cloudwatch.PutMetricDataInput{
		Namespace: aws.String("shop"),
		MetricData: []metrics.MetricDatum{{
			MetricName: aws.String("Orders"), Dimensions: dimensions, Timestamp: &now,
			Values: []float64{1, 2, 3.5}, Counts: []float64{1, 1, 2}, Unit: metrics.StandardUnitCount,
		}},
	}))
	reply := must(client.GetMetricStatistics(ctx, &cloudwatch.GetMetricStatisticsInput{
		Namespace: aws.String("shop"), MetricName: aws.String("Orders"), Dimensions: dimensions,
		StartTime: aws.Time(now.Add(-time.Hour)), EndTime: aws.Time(now.Add(time.Minute)), Period: aws.Int32(7200),
		Statistics: []metrics.Statistic{metrics.StatisticSum, metrics.StatisticSampleCount},
	}))
	point := reply.Datapoints[0]
	listed := [][]string{}
	for _, one := range must(client.ListMetrics(ctx, &cloudwatch.ListMetricsInput{Namespace: aws.String("shop")})).Metrics {
		listed = append(listed, []string{*one.MetricName, *one.Dimensions[0].Value})
	}
	_, err := client.PutMetricData(ctx, &cloudwatch.PutMetricDataInput{
		Namespace:  aws.String("AWS/Own"),
		MetricData: []metrics.MetricDatum{{MetricName: aws.String("a"), Value: aws.Float64(1)}},
	})
	return map[string]any{
		"point": []any{*point.Sum, *point.SampleCount, point.Unit}, "listed": listed, "throttled": 0, "refused": refused(err),
	}
}

// scaled registers a table's reads, which raises them.
func scaled(ctx context.Context, tables *dynamodb.Client, client *applicationautoscaling.Client) map[string]any {
	must(tables.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:             aws.String("hot"),
		KeySchema:             []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions:  []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}},
		ProvisionedThroughput: &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(1), WriteCapacityUnits: aws.Int64(1)},
	}))
	register := func(resource string) error {
		_, err := client.RegisterScalableTarget(ctx, &applicationautoscaling.RegisterScalableTargetInput{
			ServiceNamespace: scaling.ServiceNamespaceDynamodb, ResourceId: aws.String(resource),
			ScalableDimension: scaling.ScalableDimensionDynamoDBTableReadCapacityUnits,
			MinCapacity:       aws.Int32(5), MaxCapacity: aws.Int32(9),
		})
		return err
	}
	if err := register("table/hot"); err != nil {
		panic(err)
	}
	found := must(client.DescribeScalableTargets(ctx, &applicationautoscaling.DescribeScalableTargetsInput{
		ServiceNamespace: scaling.ServiceNamespaceDynamodb,
	})).ScalableTargets[0]
	described := must(tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String("hot")})).Table
	return map[string]any{
		"target":  []any{*found.ResourceId, *found.MinCapacity, *found.MaxCapacity},
		"units":   *described.ProvisionedThroughput.ReadCapacityUnits,
		"refused": refused(register("table/missing")),
	}
}

// capacity is CloudWatch, which Go asks in CBOR, and Application Auto Scaling.
func capacity(ctx context.Context, endpoint string) map[string]any {
	config := aws.Config{
		Region: "eu-west-1", BaseEndpoint: aws.String(endpoint),
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
	}
	return map[string]any{
		"measured": measured(ctx, cloudwatch.NewFromConfig(config)),
		"scaled":   scaled(ctx, dynamodb.NewFromConfig(config), applicationautoscaling.NewFromConfig(config)),
	}
}
