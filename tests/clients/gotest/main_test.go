package orders

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

var (
	endpoint string
	accounts atomic.Int64
)

// TestMain starts one server for all tests of the package, and ends it after them.
func TestMain(m *testing.M) {
	server, err := start()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	server.Process.Signal(syscall.SIGTERM)
	server.Wait()
	os.Exit(code)
}

// start runs the command in the environment variable HASHRANGE, or else `hashrange`. The server keeps everything in memory.
func start() (*exec.Cmd, error) {
	words := strings.Fields(os.Getenv("HASHRANGE"))
	if len(words) == 0 {
		words = []string{"hashrange"}
	}
	words = append(words, "serve", "--in-memory", "--port", "0")
	server := exec.Command(words[0], words[1:]...)
	server.Stderr = os.Stderr
	output, err := server.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := server.Start(); err != nil {
		return nil, err
	}
	// The server prints one line with its endpoint once it is ready.
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		server.Wait()
		return nil, fmt.Errorf("the server ended before it was ready: %v", server.ProcessState)
	}
	endpoint = regexp.MustCompile(`http://[\d.]+:\d+`).FindString(line)
	return server, nil
}

// newClient returns a client of an empty database: an access key of 12 digits is an account, and each account has its own tables.
func newClient() *dynamodb.Client {
	account := fmt.Sprintf("%012d", accounts.Add(1))
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(endpoint),
		Region:       "us-east-1",
		Credentials:  credentials.NewStaticCredentialsProvider(account, "any", ""),
	})
}
