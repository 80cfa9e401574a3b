package orders

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// newOrders returns a client of a database that has the table Orders, and nothing else.
func newOrders(t *testing.T) *dynamodb.Client {
	t.Helper()
	client := newClient()
	if err := CreateTable(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	return client
}

func TestOrdersAreStored(t *testing.T) {
	for _, count := range []int{0, 1, 7, 20} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			t.Parallel()
			client := newOrders(t)
			for number := range count {
				if err := Place(t.Context(), client, Order{"ada", number, 25}); err != nil {
					t.Fatal(err)
				}
			}
			orders, err := All(t.Context(), client)
			if err != nil {
				t.Fatal(err)
			}
			if len(orders) != count {
				t.Errorf("%d orders instead of %d", len(orders), count)
			}
		})
	}
}

func TestAnOrderIsPlacedOnce(t *testing.T) {
	t.Parallel()
	client := newOrders(t)
	if err := Place(t.Context(), client, Order{"ada", 1, 25}); err != nil {
		t.Fatal(err)
	}
	err := Place(t.Context(), client, Order{"ada", 1, 30})
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) {
		t.Errorf("%v instead of a failed condition", err)
	}
}
