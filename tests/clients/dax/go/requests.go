package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// asked is the content of requests.json.
type asked struct {
	Tables []json.RawMessage
	Steps  []struct {
		Call    string
		Request json.RawMessage
		Pages   bool
		Except  map[string]string
	}
}

var valueType = reflect.TypeFor[types.AttributeValue]()

// read sets a member of an input of the SDK from JSON of the API's own form.
func read(into reflect.Value, content any) {
	switch {
	case into.Type() == valueType:
		into.Set(reflect.ValueOf(readValue(content.(map[string]any))))
	case into.Kind() == reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		read(into.Elem(), content)
	case into.Kind() == reflect.Struct:
		for name, inner := range content.(map[string]any) {
			read(into.FieldByName(name), inner)
		}
	case into.Kind() == reflect.Map:
		into.Set(reflect.MakeMap(into.Type()))
		for name, inner := range content.(map[string]any) {
			value := reflect.New(into.Type().Elem()).Elem()
			read(value, inner)
			into.SetMapIndex(reflect.ValueOf(name), value)
		}
	case into.Kind() == reflect.Slice:
		elements := content.([]any)
		into.Set(reflect.MakeSlice(into.Type(), len(elements), len(elements)))
		for place, inner := range elements {
			read(into.Index(place), inner)
		}
	default:
		into.Set(reflect.ValueOf(content).Convert(into.Type()))
	}
}

// readValue makes an attribute value of its JSON.
func readValue(content map[string]any) types.AttributeValue {
	texts := func(inner any) []string {
		var found []string
		for _, one := range inner.([]any) {
			found = append(found, one.(string))
		}
		return found
	}
	bytes := func(inner any) []byte {
		found, err := base64.StdEncoding.DecodeString(inner.(string))
		if err != nil {
			panic(err)
		}
		return found
	}
	for kind, inner := range content {
		switch kind {
		case "S":
			return &types.AttributeValueMemberS{Value: inner.(string)}
		case "N":
			return &types.AttributeValueMemberN{Value: inner.(string)}
		case "B":
			return &types.AttributeValueMemberB{Value: bytes(inner)}
		case "BOOL":
			return &types.AttributeValueMemberBOOL{Value: inner.(bool)}
		case "NULL":
			return &types.AttributeValueMemberNULL{Value: inner.(bool)}
		case "SS":
			return &types.AttributeValueMemberSS{Value: texts(inner)}
		case "NS":
			return &types.AttributeValueMemberNS{Value: texts(inner)}
		case "BS":
			var found [][]byte
			for _, one := range inner.([]any) {
				found = append(found, bytes(one))
			}
			return &types.AttributeValueMemberBS{Value: found}
		case "L":
			found := []types.AttributeValue{}
			for _, one := range inner.([]any) {
				found = append(found, readValue(one.(map[string]any)))
			}
			return &types.AttributeValueMemberL{Value: found}
		case "M":
			found := map[string]types.AttributeValue{}
			for name, one := range inner.(map[string]any) {
				found[name] = readValue(one.(map[string]any))
			}
			return &types.AttributeValueMemberM{Value: found}
		}
	}
	panic(fmt.Sprint("an unknown attribute value: ", content))
}

// plain is an output of the SDK as JSON of the API's own form, without what is nil or empty, and metadata.
func plain(value reflect.Value) any {
	switch value.Kind() {
	case reflect.Pointer, reflect.Interface:
		if value.IsNil() {
			return nil
		}
		inner := value.Elem()
		if name, isValue := strings.CutPrefix(inner.Type().Name(), "AttributeValueMember"); isValue {
			found := plain(inner.FieldByName("Value"))
			if found == nil {
				found = map[string]any{"L": []any{}, "M": map[string]any{}, "B": ""}[name]
			}
			return map[string]any{name: found}
		}
		return plain(inner)
	case reflect.Struct:
		found := map[string]any{}
		for place := range value.NumField() {
			field := value.Type().Field(place)
			if !field.IsExported() || field.Name == "ResultMetadata" {
				continue
			}
			if inner := plain(value.Field(place)); inner != nil {
				found[field.Name] = inner
			}
		}
		return found
	case reflect.Map:
		if value.IsNil() {
			return nil
		}
		found := map[string]any{}
		for _, name := range value.MapKeys() {
			found[name.String()] = plain(value.MapIndex(name))
		}
		return found
	case reflect.Slice:
		if value.Type().Elem().Kind() == reflect.Uint8 {
			return base64.StdEncoding.EncodeToString(value.Bytes())
		}
		if value.IsNil() {
			return nil
		}
		found := []any{}
		for place := range value.Len() {
			found = append(found, plain(value.Index(place)))
		}
		return found
	}
	if value.Kind() == reflect.String && value.String() == "" && value.Type().Name() != "string" {
		return nil
	}
	return value.Interface()
}

// call sends a request, given as JSON, by the client's method of this name; returns the output.
func call(ctx context.Context, client any, name string, request json.RawMessage, start reflect.Value) (reflect.Value, error) {
	method := reflect.ValueOf(client).MethodByName(name)
	input := reflect.New(method.Type().In(1).Elem())
	var content map[string]any
	if err := json.Unmarshal(request, &content); err != nil {
		panic(err)
	}
	read(input.Elem(), content)
	if start.IsValid() {
		input.Elem().FieldByName("ExclusiveStartKey").Set(start)
	}
	found := method.Call([]reflect.Value{reflect.ValueOf(ctx), input})
	if err, failed := found[1].Interface().(error); failed {
		return reflect.Value{}, err
	}
	return found[0], nil
}

// answers is what each step of requests.json gave, or its error.
func answers(ctx context.Context, client any, told asked) []any {
	var found []any
	for _, step := range told.Steps {
		if step.Except["go"] != "" {
			found = append(found, nil)
			continue
		}
		var pages []any
		start := reflect.Value{}
		for {
			output, err := call(ctx, client, step.Call, step.Request, start)
			if err != nil {
				found = append(found, failure(err))
				break
			}
			pages = append(pages, plain(output))
			start = reflect.Value{}
			if step.Pages {
				start = output.Elem().FieldByName("LastEvaluatedKey")
			}
			if !start.IsValid() || start.Len() == 0 {
				found = append(found, pages)
				break
			}
		}
	}
	return found
}

func failure(err error) any {
	var cancelled *types.TransactionCanceledException
	var api smithy.APIError
	switch {
	case errors.As(err, &cancelled):
		return map[string]any{"code": cancelled.ErrorCode(), "message": cancelled.ErrorMessage(), "reasons": plain(reflect.ValueOf(cancelled.CancellationReasons))}
	case errors.As(err, &api):
		return map[string]any{"code": api.ErrorCode(), "message": api.ErrorMessage()}
	}
	return map[string]any{"code": "", "message": err.Error()}
}

// tell prints what the requests of a file give through DAX and directly.
func tell(ctx context.Context, file string, through any, direct *dynamodb.Client) {
	content, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	heard := map[string]any{}
	for side, client := range map[string]any{"through": through, "direct": direct} {
		names := strings.NewReplacer("SIDE", side, "LONG", strings.Repeat("x", 300_000))
		var told asked
		if err := json.Unmarshal([]byte(names.Replace(string(content))), &told); err != nil {
			panic(err)
		}
		for _, table := range told.Tables {
			if _, err := call(ctx, direct, "CreateTable", table, reflect.Value{}); err != nil {
				panic(err)
			}
		}
		text, err := json.Marshal(answers(ctx, client, told))
		if err != nil {
			panic(err)
		}
		heard[side] = json.RawMessage(strings.ReplaceAll(string(text), side+".", "SIDE."))
	}
	text, err := json.Marshal(heard)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
}
