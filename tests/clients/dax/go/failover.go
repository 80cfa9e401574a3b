package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const reads, tries, givenUp = 30, 1000, 300 * time.Millisecond

// readAsAsked reads through a cluster, as often as a line comes: each time until an item was read 30 times, and prints how many of
// these were right. A read that fails, or gets no reply, is tried again.
func readAsAsked(client data) {
	asking := bufio.NewScanner(os.Stdin)
	input := &dynamodb.GetItemInput{TableName: aws.String("music"), Key: item{"artist": s("Nina")}}
	for asking.Scan() {
		found, right := 0, 0
		for try := 0; try < tries && found < reads; try++ {
			ctx, cancel := context.WithTimeout(context.Background(), givenUp)
			output, err := client.GetItem(ctx, input)
			cancel()
			if err != nil {
				continue
			}
			found++
			if year, ok := output.Item["year"].(*types.AttributeValueMemberN); ok && year.Value == "1958" {
				right++
			}
		}
		fmt.Println(right)
	}
}
