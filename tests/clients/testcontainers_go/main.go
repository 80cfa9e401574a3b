// How does a Go program use Hashrange in a container? With Testcontainers; needs a container engine.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// run prints the tables of a new database: there are none.
func run(ctx context.Context) (err error) {
	container, err := testcontainers.Run(ctx, "hashrange/hashrange",
		testcontainers.WithCmd("serve", "--host", "0.0.0.0", "--in-memory"),
		testcontainers.WithExposedPorts("8000/tcp"),
		testcontainers.WithWaitStrategy(wait.ForHTTP("/").WithPort("8000/tcp")),
	)
	defer func() {
		if ended := testcontainers.TerminateContainer(container); err == nil {
			err = ended
		}
	}()
	if err != nil {
		return err
	}
	endpoint, err := container.PortEndpoint(ctx, "8000/tcp", "http")
	if err != nil {
		return err
	}
	// Each access key of 12 digits has tables of its own.
	client := dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(endpoint),
		Region:       "us-east-1",
		Credentials:  credentials.NewStaticCredentialsProvider("000000000001", "any", ""),
	})
	tables, err := client.ListTables(ctx, &dynamodb.ListTablesInput{})
	if err != nil {
		return err
	}
	fmt.Println(tables.TableNames)
	return nil
}
